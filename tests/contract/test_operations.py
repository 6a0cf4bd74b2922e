"""The OpenAPI document against a table of our own: no operation, parameter, field or status has gone missing.

Fields are written as ``name``, ``name!`` (required) and ``name:set`` (its values are a set of ``SETS``).
More than the table says is fine, but for a required field, a value of a closed set and a success status.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

PREFIX = "/api/v1"
METHODS = {"get", "post", "put", "patch", "delete"}
JSON, MULTIPART = "application/json", "multipart/form-data"
Schema = dict[str, Any]

SETS: dict[str, set[str]] = {
    "role": {"admin", "user"},
    "strategy": {"page", "whole", "size"},
    "status": {"pending", "processing", "ready", "failed"},
    "source": {"manual", "agent", "extraction", "orchestration"},
    "action": {"created", "updated", "skipped", "superseded"},
    "document": {"document"},
    "memory": {"memory"},
}
OPEN = {"strategy"}
"""Sets that may grow."""

API_KEY = "id name key_prefix user_id project_id policy_ids created_at updated_at"
DOCUMENT = (
    "id file_id project_id path filename content_type size status:status title metadata tags content"
    " chunk_strategy:strategy chunk_size chunk_overlap created_at updated_at"
)
ENTRY = (
    "id memory_id content source_type:source tags metadata source_generation_id source_conversation_id"
    " invalidated_at superseded_by_entry_id created_at updated_at"
)
RECORDS: dict[str, str] = {
    "UserRecord": "id username role:role created_at updated_at",
    "LoginResponse": "id username role:role token",
    "ProjectRecord": "id name created_at updated_at",
    "ProjectCreated": "id name created_at",
    "ApiKeyRecord": API_KEY,
    "ApiKeyCreated": f"{API_KEY} key",
    "PolicyRecord": "id name description document created_at updated_at",
    "FileRecord": "id prefix filename path content_type size metadata tags created_at updated_at",
    "FileContent": "content filename content_type size",
    "PresignedUrlResponse": "upload_token upload_url expires_at",
    "DocumentRecord": DOCUMENT,
    "IngestedDocumentRecord": f"{DOCUMENT} chunk_count",
    "DocumentStatusRecord": "id status:status chunk_count total_chunks total_pages progress error",
    "EmbeddingsResponse": "embedding embeddings",
    "Memory": "id project_id name description tags created_at updated_at",
    "MemoryEntry": ENTRY,
    "MemoryEntryWriteResult": f"{ENTRY} action:action",
    "Page": "data! total! limit! offset!",
    "KnowledgeResults": "results!",
    "DocumentKnowledgeResult": (
        "source_type!:document document_id! chunk_id page file_id project_id path filename size title metadata tags"
        " content! score similarity_score created_at! updated_at!"
    ),
    "MemoryKnowledgeResult": (
        "source_type!:memory entry_id! memory_id! memory_name! content! tags! score similarity_score"
        " created_at! updated_at!"
    ),
}


@dataclass(frozen=True)
class Answer:
    """What a success carries: a record, maybe with a list of other records in one of its fields."""

    record: str
    inside: str = ""
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Free:
    """A body or an answer without fields of its own: an object of any keys, or bytes."""

    type: str
    format: str | None = None


OBJECT, BYTES = Free("object"), Free("string", "binary")


@dataclass(frozen=True)
class Operation:
    """One row of the table."""

    id: str
    method: str
    path: str
    answers: dict[int, Answer | Free | None]
    query: str = ""
    bodies: dict[str, str | Free] = field(default_factory=dict)


def one(status: int, record: str) -> dict[int, Answer | Free | None]:
    """Return the answers of an operation that gives one record."""
    return {status: Answer(record)}


def page(record: str) -> dict[int, Answer | Free | None]:
    """Return the answers of a list."""
    return {200: Answer("Page", "data", (record,))}


def in_json(fields: str) -> dict[str, str | Free]:
    """Return the bodies of an operation that takes these fields."""
    return {JSON: fields}


NOTHING: dict[int, Answer | Free | None] = {204: None}
TAGS: dict[int, Answer | Free | None] = {200: OBJECT}
TAGS_BODY: dict[str, str | Free] = {JSON: OBJECT}
INGESTED: dict[int, Answer | Free | None] = {
    201: Answer("IngestedDocumentRecord"),
    202: Answer("IngestedDocumentRecord"),
}
WRITTEN: dict[int, Answer | Free | None] = {
    200: Answer("MemoryEntryWriteResult"),
    201: Answer("MemoryEntryWriteResult"),
}
FOUND: dict[int, Answer | Free | None] = {
    200: Answer("KnowledgeResults", "results", ("DocumentKnowledgeResult", "MemoryKnowledgeResult")),
}
CHUNKING = "chunk_strategy:strategy chunk_size chunk_overlap"
PAGING = "limit offset"

TABLE = [
    Operation("getCurrentUser", "get", "/users/me", one(200, "UserRecord")),
    Operation("listUsers", "get", "/users", page("UserRecord"), PAGING),
    Operation(
        "createUser",
        "post",
        "/users",
        one(201, "UserRecord"),
        bodies=in_json("username! password! role:role"),
    ),
    Operation("getUser", "get", "/users/{user_id}", one(200, "UserRecord")),
    Operation("deleteUser", "delete", "/users/{user_id}", NOTHING),
    Operation(
        "bootstrapUser", "post", "/users/bootstrap", one(201, "UserRecord"), bodies=in_json("username! password!")
    ),
    Operation("loginUser", "post", "/users/login", one(200, "LoginResponse"), bodies=in_json("username! password!")),
    Operation("attachUserPolicies", "put", "/users/{user_id}/policies", NOTHING, bodies=in_json("policy_ids!")),
    Operation("listProjects", "get", "/projects", page("ProjectRecord"), PAGING),
    Operation("createProject", "post", "/projects", one(201, "ProjectCreated"), bodies=in_json("name!")),
    Operation("getProject", "get", "/projects/{project_id}", one(200, "ProjectRecord")),
    Operation("updateProject", "patch", "/projects/{project_id}", one(200, "ProjectRecord"), bodies=in_json("name")),
    Operation("deleteProject", "delete", "/projects/{project_id}", NOTHING, "force"),
    Operation("listApiKeys", "get", "/api-keys", page("ApiKeyRecord"), PAGING),
    Operation(
        "createApiKey", "post", "/api-keys", one(201, "ApiKeyCreated"), bodies=in_json("name! project_id policy_ids")
    ),
    Operation("getApiKey", "get", "/api-keys/{api_key_id}", one(200, "ApiKeyRecord")),
    Operation(
        "updateApiKey",
        "put",
        "/api-keys/{api_key_id}",
        one(200, "ApiKeyRecord"),
        bodies=in_json("name project_id policy_ids"),
    ),
    Operation("deleteApiKey", "delete", "/api-keys/{api_key_id}", NOTHING),
    Operation("listPolicies", "get", "/policies", page("PolicyRecord"), f"user_id {PAGING}"),
    Operation(
        "createPolicy", "post", "/policies", one(201, "PolicyRecord"), bodies=in_json("name description document!")
    ),
    Operation("getPolicy", "get", "/policies/{policy_id}", one(200, "PolicyRecord")),
    Operation(
        "updatePolicy",
        "put",
        "/policies/{policy_id}",
        one(200, "PolicyRecord"),
        bodies=in_json("name description document!"),
    ),
    Operation("deletePolicy", "delete", "/policies/{policy_id}", NOTHING),
    Operation("listFiles", "get", "/files", page("FileRecord"), f"project_id {PAGING}"),
    Operation(
        "createFile",
        "post",
        "/files",
        one(201, "FileRecord"),
        bodies=in_json("project_id prefix filename content_type size metadata"),
    ),
    Operation(
        "uploadFile",
        "post",
        "/files/upload",
        one(201, "FileRecord"),
        bodies={MULTIPART: "file! project_id prefix filename metadata"},
    ),
    Operation(
        "uploadFileBase64",
        "post",
        "/files/upload/base64",
        one(201, "FileRecord"),
        bodies=in_json("project_id content! prefix filename content_type metadata"),
    ),
    Operation(
        "createPresignedUrl",
        "post",
        "/files/presigned-url",
        one(201, "PresignedUrlResponse"),
        bodies=in_json("project_id prefix filename content_type"),
    ),
    Operation(
        "uploadFileWithToken",
        "post",
        "/files/upload/{token}",
        one(201, "FileRecord"),
        bodies={MULTIPART: "file! metadata"},
    ),
    Operation("getFile", "get", "/files/{file_id}", one(200, "FileRecord")),
    Operation("deleteFile", "delete", "/files/{file_id}", NOTHING),
    Operation("downloadFile", "get", "/files/{file_id}/download", {200: BYTES, 206: BYTES}),
    Operation(
        "updateFileMetadata",
        "patch",
        "/files/{file_id}/metadata",
        one(200, "FileRecord"),
        bodies=in_json("metadata prefix filename"),
    ),
    Operation("downloadFileBase64", "get", "/files/{file_id}/download/base64", one(200, "FileContent")),
    Operation("getFileTags", "get", "/files/{file_id}/tags", TAGS),
    Operation("replaceFileTags", "put", "/files/{file_id}/tags", TAGS, bodies=TAGS_BODY),
    Operation("mergeFileTags", "patch", "/files/{file_id}/tags", TAGS, bodies=TAGS_BODY),
    Operation("listDocuments", "get", "/documents", page("DocumentRecord"), f"project_id path_prefix {PAGING}"),
    Operation(
        "createDocument",
        "post",
        "/documents",
        one(201, "DocumentRecord"),
        bodies=in_json(f"project_id content! path filename title metadata tags {CHUNKING}"),
    ),
    Operation(
        "ingestDocument",
        "post",
        "/documents/ingest",
        INGESTED,
        "wait",
        bodies=in_json(f"file_id! project_id path_prefix tags {CHUNKING}"),
    ),
    Operation("getDocument", "get", "/documents/{document_id}", one(200, "DocumentRecord")),
    Operation("deleteDocument", "delete", "/documents/{document_id}", NOTHING),
    Operation(
        "updateDocument",
        "patch",
        "/documents/{document_id}",
        one(200, "DocumentRecord"),
        bodies=in_json("content title path metadata tags"),
    ),
    Operation("getDocumentStatus", "get", "/documents/{document_id}/status", one(200, "DocumentStatusRecord")),
    Operation(
        "reingestDocument", "post", "/documents/{document_id}/ingest", INGESTED, "wait", bodies=in_json(CHUNKING)
    ),
    Operation("getDocumentTags", "get", "/documents/{document_id}/tags", TAGS),
    Operation("replaceDocumentTags", "put", "/documents/{document_id}/tags", TAGS, bodies=TAGS_BODY),
    Operation("mergeDocumentTags", "patch", "/documents/{document_id}/tags", TAGS, bodies=TAGS_BODY),
    Operation(
        "createEmbeddings", "post", "/embeddings", one(200, "EmbeddingsResponse"), bodies=in_json("input inputs")
    ),
    Operation("listMemories", "get", "/memories", page("Memory"), f"project_id tags {PAGING}"),
    Operation(
        "createMemory", "post", "/memories", one(201, "Memory"), bodies=in_json("project_id name! description tags")
    ),
    Operation("getMemory", "get", "/memories/{memory_id}", one(200, "Memory")),
    Operation(
        "updateMemory", "put", "/memories/{memory_id}", one(200, "Memory"), bodies=in_json("name description tags")
    ),
    Operation("deleteMemory", "delete", "/memories/{memory_id}", NOTHING),
    Operation(
        "listMemoryEntries", "get", "/memory-entries", page("MemoryEntry"), f"memory_id! {PAGING} include_invalidated"
    ),
    Operation(
        "createMemoryEntry",
        "post",
        "/memory-entries",
        WRITTEN,
        bodies=in_json("memory_id! content! source_type:source tags metadata duplicate_threshold"),
    ),
    Operation("getMemoryEntry", "get", "/memory-entries/{entry_id}", one(200, "MemoryEntry")),
    Operation(
        "updateMemoryEntry",
        "put",
        "/memory-entries/{entry_id}",
        one(200, "MemoryEntry"),
        bodies=in_json("content tags metadata"),
    ),
    Operation("deleteMemoryEntry", "delete", "/memory-entries/{entry_id}", NOTHING),
    Operation(
        "searchKnowledge",
        "post",
        "/knowledge/search",
        FOUND,
        bodies=in_json("project_id query min_score limit memory_ids memory_tags document_paths document_ids"),
    ),
]
BODIES = [
    pytest.param(row, media, body, id=f"{row.id}-{media.partition('/')[2]}")
    for row in TABLE
    for media, body in row.bodies.items()
]
ANSWERS = [
    pytest.param(row, status, answer, id=f"{row.id}-{status}")
    for row in TABLE
    for status, answer in row.answers.items()
]


@dataclass(frozen=True)
class Field:
    """A field of the table."""

    name: str
    required: bool
    values: str


def fields(written: str) -> list[Field]:
    """Return the fields of a row."""
    found = []
    for word in written.split():
        name, _, values = word.partition(":")
        found.append(Field(name.removesuffix("!"), name.endswith("!"), values))
    return found


def required(written: str) -> set[str]:
    """Return the names of the required fields of a row."""
    return {each.name for each in fields(written) if each.required}


@cache
def document() -> Schema:
    """Return the OpenAPI document."""
    made: Schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


def placed() -> list[tuple[str, str, Schema]]:
    """Return path, method and description of every operation of the document."""
    paths: Schema = document()["paths"]
    return [(path, method, item[method]) for path, item in paths.items() for method in item if method in METHODS]


def described(row: Operation) -> Schema:
    """Return the description of the operation of a row."""
    return next(each for _, _, each in placed() if each["operationId"] == row.id)


def resolved(schema: Schema) -> Schema:
    """Return a schema without its reference, and with the fields of all its parts."""
    if reference := schema.get("$ref"):
        return resolved(document()["components"]["schemas"][reference.rpartition("/")[2]])
    parts = [schema, *map(resolved, schema.get("allOf", []))]
    return {
        **schema,
        "properties": {name: each for part in parts for name, each in part.get("properties", {}).items()},
        "required": [name for part in parts for name in part.get("required", [])],
    }


def alternatives(schema: Schema) -> list[Schema]:
    """Return the schemas of which a value meets one."""
    whole = resolved(schema)
    choices = whole.get("oneOf") or whole.get("anyOf")
    return [each for choice in choices for each in alternatives(choice)] if choices else [whole]


def values(schema: Schema) -> set[str]:
    """Return the values that a schema allows, but for null; none where it names none."""
    whole = resolved(schema)
    named = {each for each in whole.get("enum", []) if each is not None}
    return named.union(*(values(part) for key in ("oneOf", "anyOf", "allOf") for part in whole.get(key, [])))


def wrong_values(written: str, schema: Schema) -> dict[str, set[str]]:
    """Return the values that a schema has too few of, or too many, by field."""
    found = {}
    for each in fields(written):
        if each.values and each.name in schema["properties"]:
            expected, actual = SETS[each.values], values(schema["properties"][each.name])
            if wrong := expected - actual if each.values in OPEN else expected ^ actual:
                found[each.name] = wrong
    return found


def missing(written: str, schema: Schema) -> dict[str, Any]:
    """Return what the schema of an answer lacks of a record."""
    lacking = {
        "fields": {each.name for each in fields(written)} - set(schema["properties"]),
        "required": required(written) - set(schema["required"]),
        "values": wrong_values(written, schema),
    }
    return {what: names for what, names in lacking.items() if names}


def is_free(free: Free, schema: Schema) -> bool:
    """Say whether a schema is one without fields of its own."""
    whole = resolved(schema)
    return whole.get("type") == free.type and whole.get("format") == free.format and not whole["properties"]


def test_operation_ids_are_unique() -> None:
    for ids in ([row.id for row in TABLE], [each["operationId"] for _, _, each in placed()]):
        assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
def test_it_stands_at_its_method_and_path(row: Operation) -> None:
    found = [(method, path) for path, method, each in placed() if each["operationId"] == row.id]
    assert found == [(row.method, PREFIX + row.path)]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
def test_it_takes_its_query_parameters(row: Operation) -> None:
    parameters = [each for each in described(row).get("parameters", []) if each["in"] == "query"]
    assert {each.name for each in fields(row.query)} - {each["name"] for each in parameters} == set()
    assert {each["name"] for each in parameters if each.get("required")} == required(row.query)


@pytest.mark.parametrize("row", [row for row in TABLE if not row.bodies], ids=lambda row: row.id)
def test_it_takes_no_body(row: Operation) -> None:
    assert "requestBody" not in described(row)


@pytest.mark.parametrize(("row", "media", "body"), BODIES)
def test_it_takes_the_fields_of_its_body(row: Operation, media: str, body: str | Free) -> None:
    content = described(row)["requestBody"]["content"]
    assert media in content
    if isinstance(body, Free):
        assert is_free(body, content[media]["schema"])
        return
    schema = resolved(content[media]["schema"])
    assert {each.name for each in fields(body)} - set(schema["properties"]) == set()
    assert set(schema["required"]) == required(body)
    assert wrong_values(body, schema) == {}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
def test_it_succeeds_with_its_statuses(row: Operation) -> None:
    assert {int(status) for status in described(row)["responses"] if status.startswith("2")} == set(row.answers)


@pytest.mark.parametrize(("row", "status", "answer"), ANSWERS)
def test_it_answers_with_its_record(row: Operation, status: int, answer: Answer | Free | None) -> None:
    content = described(row)["responses"][str(status)].get("content", {})
    if answer is None:
        assert content == {}
        return
    if isinstance(answer, Free):
        assert content
        assert all(is_free(answer, each["schema"]) for each in content.values())
        return
    schema = resolved(content[JSON]["schema"])
    assert missing(RECORDS[answer.record], schema) == {}
    if not answer.inside:
        return
    array = resolved(schema["properties"][answer.inside])
    assert array["type"] == "array"
    choices = alternatives(array["items"])
    assert len(choices) == len(answer.items)
    for record in answer.items:
        lacking = [missing(RECORDS[record], choice) for choice in choices]
        assert {} in lacking, (record, lacking)
