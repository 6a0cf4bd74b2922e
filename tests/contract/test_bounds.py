"""The OpenAPI document against the contract once more: defaults, bounds, closed sets, and what may be null."""

from typing import Any

import pytest

from tests.contract.test_operations import TABLE, described, document, resolved, values

LISTS = [row.id for row in TABLE if "limit" in row.query]


def described_as(operation: str) -> dict[str, Any]:
    """Return the description of an operation by its id."""
    return described(next(row for row in TABLE if row.id == operation))


def parameter(operation: str, name: str) -> dict[str, Any]:
    """Return the schema of a query parameter."""
    found = [each for each in described_as(operation)["parameters"] if (each["in"], each["name"]) == ("query", name)]
    schema: dict[str, Any] = found[0]["schema"]
    return schema


def field(schema: str, name: str) -> dict[str, Any]:
    """Return the schema of a field."""
    found: dict[str, Any] = document()["components"]["schemas"][schema]["properties"][name]
    return found


@pytest.mark.parametrize("operation", LISTS)
def test_a_list_begins_at_its_first_row_and_has_fifty(operation: str) -> None:
    assert parameter(operation, "limit") == {"type": "integer", "default": 50}
    assert parameter(operation, "offset") == {"type": "integer", "default": 0}


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("deleteProject", "force"),
        ("ingestDocument", "wait"),
        ("reingestDocument", "wait"),
        ("listMemoryEntries", "include_invalidated"),
    ],
)
def test_a_flag_of_a_query_is_off(operation: str, name: str) -> None:
    assert parameter(operation, name) == {"type": "boolean", "default": False}


def test_tags_of_a_query_are_a_list() -> None:
    schema = parameter("listMemories", "tags")
    assert (schema["type"], schema["items"]["type"]) == ("array", "string")
    assert (schema["items"]["maxLength"], schema["maxItems"]) == (255, 100)


@pytest.mark.parametrize(
    ("schema", "name", "said"),
    [
        ("UserCreateRequest", "role", {"default": "user"}),
        ("DocumentCreateRequest", "chunk_strategy", {"default": "whole"}),
        ("DocumentIngestRequest", "chunk_strategy", {"default": "page"}),
        ("DocumentReingestRequest", "chunk_strategy", {"default": "page"}),
        ("DocumentCreateRequest", "chunk_size", {"minimum": 1}),
        ("DocumentIngestRequest", "chunk_overlap", {"minimum": 0}),
        ("EntryCreateRequest", "source_type", {"default": "manual"}),
        ("EntryCreateRequest", "duplicate_threshold", {"default": 0.95, "minimum": 0, "maximum": 1}),
        ("KnowledgeSearchRequest", "limit", {"default": 10, "minimum": 1}),
        ("KnowledgeSearchRequest", "min_score", {"minimum": 0, "maximum": 1}),
        ("DocumentKnowledgeResult", "similarity_score", {"minimum": 0, "maximum": 1}),
        ("MemoryKnowledgeResult", "similarity_score", {"minimum": 0, "maximum": 1}),
    ],
)
def test_a_field_has_its_default_and_its_bounds(schema: str, name: str, said: dict[str, Any]) -> None:
    assert said.items() <= field(schema, name).items()


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ("ApiKeyRecord", "project_id"),
        ("PolicyRecord", "name description"),
        ("FileRecord", "path content_type size metadata"),
        ("FileContent", "size"),
        ("DocumentRecord", "path content"),
        ("IngestedDocumentRecord", "path content"),
        ("DocumentStatusRecord", "total_chunks total_pages progress error"),
        ("MemoryRecord", "description tags"),
        (
            "MemoryEntryRecord",
            "tags metadata source_generation_id source_conversation_id invalidated_at superseded_by_entry_id",
        ),
        ("DocumentKnowledgeResult", "page content"),
        ("MemoryKnowledgeResult", "tags"),
        ("ApiKeyCreateRequest", "project_id"),
        ("ApiKeyUpdateRequest", "project_id"),
        ("FileCreateRequest", "size"),
        ("PatchedDocumentUpdateRequest", "path"),
        ("MemoryUpdateRequest", "description tags"),
        ("EntryUpdateRequest", "tags metadata"),
    ],
)
def test_a_field_may_be_null(schema: str, names: str) -> None:
    assert {name for name in names.split() if "null" not in field(schema, name)["type"]} == set()


@pytest.mark.parametrize("policy", ["PolicyCreateRequest", "PolicyRecord"])
def test_a_policy_is_described_to_its_statements(policy: str) -> None:
    whole = resolved(field(policy, "document"))
    assert whole["required"] == ["statement"]
    statement = resolved(whole["properties"]["statement"]["items"])
    assert set(statement["properties"]) == {"effect", "action", "resource", "condition"}
    assert set(statement["required"]) == {"effect", "action"}
    assert values(statement["properties"]["effect"]) == {"Allow", "Deny"}
    for name in ("action", "resource"):
        schema = statement["properties"][name]
        assert (schema["type"], schema["items"]["type"]) == ("array", "string")
    assert statement["properties"]["resource"]["default"] == ["*"]
    condition = statement["properties"]["condition"]
    assert condition["type"] == "object"
    assert set(condition["properties"]) == {"StringEquals", "StringNotEquals", "StringLike"}


@pytest.mark.parametrize("kind", ["File", "Document"])
@pytest.mark.parametrize("verb", ["get", "replace", "merge"])
def test_tags_are_an_object_of_strings(kind: str, verb: str) -> None:
    operation = described_as(f"{verb}{kind}Tags")
    shown = [operation["responses"]["200"], *([operation["requestBody"]] if verb != "get" else [])]
    schemas = [media["schema"] for each in shown for media in each["content"].values()]
    assert schemas
    assert all(schema == {"type": "object", "additionalProperties": {"type": "string"}} for schema in schemas)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
def test_what_is_read_as_json_is_read_as_a_form(row: Any) -> None:
    media = set(described(row).get("requestBody", {}).get("content", {}))
    assert "application/json" not in media or "application/x-www-form-urlencoded" in media
