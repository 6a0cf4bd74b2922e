"""The OpenAPI document: every operation under the name that the contract has for it."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from tests.api.answers import body_of

OPERATIONS = {
    "bootstrapUser": "POST /users/bootstrap",
    "loginUser": "POST /users/login",
    "getCurrentUser": "GET /users/me",
    "listUsers": "GET /users",
    "createUser": "POST /users",
    "getUser": "GET /users/{user_id}",
    "deleteUser": "DELETE /users/{user_id}",
    "attachUserPolicies": "PUT /users/{user_id}/policies",
    "listPolicies": "GET /policies",
    "createPolicy": "POST /policies",
    "getPolicy": "GET /policies/{policy_id}",
    "updatePolicy": "PUT /policies/{policy_id}",
    "deletePolicy": "DELETE /policies/{policy_id}",
    "deleteProject": "DELETE /projects/{project_id}",
    "listProjects": "GET /projects",
    "createProject": "POST /projects",
    "getProject": "GET /projects/{project_id}",
    "updateProject": "PATCH /projects/{project_id}",
    "listApiKeys": "GET /api-keys",
    "createApiKey": "POST /api-keys",
    "getApiKey": "GET /api-keys/{api_key_id}",
    "updateApiKey": "PUT /api-keys/{api_key_id}",
    "deleteApiKey": "DELETE /api-keys/{api_key_id}",
    "listFiles": "GET /files",
    "createFile": "POST /files",
    "createPresignedUrl": "POST /files/presigned-url",
    "uploadFileWithToken": "POST /files/upload/{token}",
    "updateFileMetadata": "PATCH /files/{file_id}/metadata",
    "downloadFileBase64": "GET /files/{file_id}/download/base64",
    "getFileTags": "GET /files/{file_id}/tags",
    "replaceFileTags": "PUT /files/{file_id}/tags",
    "mergeFileTags": "PATCH /files/{file_id}/tags",
    "uploadFile": "POST /files/upload",
    "uploadFileBase64": "POST /files/upload/base64",
    "getFile": "GET /files/{file_id}",
    "deleteFile": "DELETE /files/{file_id}",
    "downloadFile": "GET /files/{file_id}/download",
    "createEmbeddings": "POST /embeddings",
    "listDocuments": "GET /documents",
    "createDocument": "POST /documents",
    "ingestDocument": "POST /documents/ingest",
    "getDocument": "GET /documents/{document_id}",
    "updateDocument": "PATCH /documents/{document_id}",
    "deleteDocument": "DELETE /documents/{document_id}",
    "getDocumentStatus": "GET /documents/{document_id}/status",
    "reingestDocument": "POST /documents/{document_id}/ingest",
    "getDocumentTags": "GET /documents/{document_id}/tags",
    "replaceDocumentTags": "PUT /documents/{document_id}/tags",
    "mergeDocumentTags": "PATCH /documents/{document_id}/tags",
    "listMemories": "GET /memories",
    "createMemory": "POST /memories",
    "getMemory": "GET /memories/{memory_id}",
    "updateMemory": "PUT /memories/{memory_id}",
    "deleteMemory": "DELETE /memories/{memory_id}",
    "listMemoryEntries": "GET /memory-entries",
    "createMemoryEntry": "POST /memory-entries",
    "getMemoryEntry": "GET /memory-entries/{entry_id}",
    "updateMemoryEntry": "PUT /memory-entries/{entry_id}",
    "deleteMemoryEntry": "DELETE /memory-entries/{entry_id}",
    "searchKnowledge": "POST /knowledge/search",
}
LISTS = {
    "listProjects": ["limit", "offset"],
    "listApiKeys": ["limit", "offset"],
    "listUsers": ["limit", "offset"],
    "listPolicies": ["user_id", "limit", "offset"],
    "deleteProject": ["force"],
    "listFiles": ["project_id", "limit", "offset"],
    "listDocuments": ["project_id", "path_prefix", "limit", "offset"],
    "listMemories": ["project_id", "tags", "limit", "offset"],
    "listMemoryEntries": ["memory_id", "limit", "offset", "include_invalidated"],
    "ingestDocument": ["wait"],
    "reingestDocument": ["wait"],
}
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document, as anybody may read it."""
    answer = Client().get("/api/v1/openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def operations(document: dict[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return ``METHOD path`` and description of every operation by its id."""
    return {
        operation["operationId"]: (f"{method.upper()} {path.removeprefix('/api/v1')}", operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def test_every_operation_has_the_name_of_the_contract(document: dict[str, Any]) -> None:
    assert {name: route for name, (route, _) in operations(document).items()} == OPERATIONS


def test_the_query_of_every_operation_is_described(document: dict[str, Any]) -> None:
    for name, (_, operation) in operations(document).items():
        query = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query"]
        assert sorted(query) == sorted(LISTS.get(name, [])), name


def test_every_operation_but_three_asks_for_a_credential(document: dict[str, Any]) -> None:
    asked = {name for name, (_, each) in operations(document).items() if {"bearer": []} in each["security"]}
    assert set(OPERATIONS) - asked == {"bootstrapUser", "loginUser", "uploadFileWithToken"}
    assert all({} not in operations(document)[name][1]["security"] for name in asked)


def test_it_is_of_the_version_that_tools_read(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert document["components"]["schemas"]["ErrorEnvelope"]["required"] == ["error"]


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html"])
def test_it_is_json_whatever_is_accepted(accept: str) -> None:
    answer = Client().get("/api/v1/openapi.json", HTTP_ACCEPT=accept)
    assert "json" in answer["Content-Type"]
    assert answer.json()["paths"]


def test_health_is_not_part_of_it(document: dict[str, Any]) -> None:
    assert body_of(Client().get("/health")) == {"status": "ok"}
    assert all(path.startswith("/api/v1/") for path in document["paths"])


def test_a_list_is_answered_with_one_page(document: dict[str, Any]) -> None:
    for name in (
        "listUsers",
        "listProjects",
        "listApiKeys",
        "listPolicies",
        "listFiles",
        "listDocuments",
        "listMemories",
    ):
        answer = operations(document)[name][1]["responses"]["200"]["content"]["application/json"]["schema"]
        page = document["components"]["schemas"][answer["$ref"].rpartition("/")[2]]
        assert sorted(page["properties"]) == ["data", "limit", "offset", "total"]


def test_a_download_is_of_any_type(document: dict[str, Any]) -> None:
    answers = operations(document)["downloadFile"][1]["responses"]
    assert list(answers["200"]["content"]) == list(answers["206"]["content"]) == ["*/*"]


def test_what_the_web_server_refuses_by_itself_has_the_shape_of_any_error(document: dict[str, Any]) -> None:
    for status in ("414", "431"):
        answers = [each["responses"][status]["content"] for _, each in operations(document).values()]
        assert all(answer["application/json"]["schema"]["$ref"].endswith("/ErrorEnvelope") for answer in answers)


def schemas_in(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from schemas_in(child)


def test_of_several_schemas_none_takes_what_another_does(document: dict[str, Any]) -> None:
    choices = [schema["oneOf"] for schema in schemas_in(document) if "oneOf" in schema]
    assert choices
    assert all({} not in choice for choice in choices)
    for name in ("MemoryEntryRecord", "MemoryEntryWriteResult"):
        metadata = document["components"]["schemas"][name]["properties"]["metadata"]
        assert metadata["type"] == ["object", "null"]
