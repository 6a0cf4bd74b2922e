"""Nobody sees what is not theirs: every operation of the OpenAPI document, as whoever has no right to it."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from documents.models import Document
from soat.api.permissions import permission_table
from soat.tenancy.models import ApiKey
from tests.conftest import Cast
from tests.tenancy.policies import allow, policy, session_of, user_with

MARK = "zanzibar"
UNKNOWN = {
    "project_id": "proj_0000000000000000",
    "user_id": "user_0000000000000000",
    "policy_id": "pol_0000000000000000",
    "api_key_id": "key_0000000000000000",
    "file_id": "file_0000000000000000",
    "document_id": "doc_0000000000000000",
    "memory_id": "mem_0000000000000000",
    "entry_id": "mem_entry_0000000000000000",
    "token": "nothing",
}
Ids = dict[str, str]

# A valid request of each operation, made of ids; what takes none is not listed.
BODIES: dict[str, Callable[[Ids], Any]] = {
    "createUser": lambda ids: {"username": "new", "password": "a-long-password-1"},
    "attachUserPolicies": lambda ids: {"policy_ids": [ids["policy_id"]]},
    "createProject": lambda ids: {"name": "x"},
    "updateProject": lambda ids: {"name": "x"},
    "createApiKey": lambda ids: {"name": "x", "project_id": ids["project_id"], "policy_ids": [ids["policy_id"]]},
    "updateApiKey": lambda ids: {"name": "x", "project_id": ids["project_id"], "policy_ids": [ids["policy_id"]]},
    "createPolicy": lambda ids: {"document": {"statement": [allow()]}},
    "updatePolicy": lambda ids: {"document": {"statement": [allow()]}},
    "createFile": lambda ids: {"project_id": ids["project_id"], "filename": "x"},
    "uploadFile": lambda ids: {"project_id": ids["project_id"], "file": SimpleUploadedFile("x.txt", b"x")},
    "uploadFileBase64": lambda ids: {"project_id": ids["project_id"], "content": "eA=="},
    "createPresignedUrl": lambda ids: {"project_id": ids["project_id"]},
    "uploadFileWithToken": lambda ids: {"content": "eA=="},
    "updateFileMetadata": lambda ids: {"filename": "x"},
    "replaceFileTags": lambda ids: {"a": "b"},
    "mergeFileTags": lambda ids: {"a": "b"},
    "createDocument": lambda ids: {"project_id": ids["project_id"], "content": "x"},
    "ingestDocument": lambda ids: {"file_id": ids["file_id"]},
    "updateDocument": lambda ids: {"title": "x"},
    "reingestDocument": lambda ids: {},
    "replaceDocumentTags": lambda ids: {"a": "b"},
    "mergeDocumentTags": lambda ids: {"a": "b"},
    "createEmbeddings": lambda ids: {"input": "x"},
    "createMemory": lambda ids: {"project_id": ids["project_id"], "name": "x"},
    "updateMemory": lambda ids: {"name": "x"},
    "createMemoryEntry": lambda ids: {"memory_id": ids["memory_id"], "content": "x"},
    "updateMemoryEntry": lambda ids: {"content": "x"},
    "searchKnowledge": lambda ids: {
        "memory_ids": [ids["memory_id"]],
        "document_ids": [ids["document_id"]],
        "memory_tags": ["*"],
        "query": MARK,
    },
}
QUERIES: dict[str, Callable[[Ids], dict[str, str]]] = {
    "listPolicies": lambda ids: {"user_id": ids["user_id"]},
    "listFiles": lambda ids: {"project_id": ids["project_id"]},
    "listDocuments": lambda ids: {"project_id": ids["project_id"]},
    "listMemories": lambda ids: {"project_id": ids["project_id"]},
    "listMemoryEntries": lambda ids: {"memory_id": ids["memory_id"]},
}
PUBLIC = {"bootstrapUser", "loginUser", "uploadFileWithToken"}
OWN = {"getCurrentUser"}


@dataclass(frozen=True)
class Operation:
    """One operation of the document."""

    id: str
    method: str
    path: str
    has_body: bool


def _operations() -> list[Operation]:
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return [
        Operation(each["operationId"], method.upper(), path, "requestBody" in each)
        for path, item in document["paths"].items()
        for method, each in item.items()
        if method in {"get", "post", "put", "patch", "delete"}
    ]


OPERATIONS = _operations()
GUARDED = [each for each in OPERATIONS if each.id not in PUBLIC | OWN]


@dataclass(frozen=True)
class World:
    """One row of each kind in project A, all of them marked, and those who have no right to them."""

    cast: Cast
    ids: Ids
    callers: dict[str, APIClient]


@pytest.fixture
def world(cast: Cast) -> World:
    project, admin = cast.project_a, cast.admin
    project.name = MARK
    project.save()
    a = {"project_id": project.public_id}

    def made(at: str, /, **body: Any) -> str:
        answer = admin.post(f"/api/v1/{at}", body, format="json")
        assert answer.status_code == 201, answer.content
        return str(answer.json()["id"])

    memory = made("memories", **a, name=MARK, tags=[MARK], description=MARK)
    document = made("documents", **a, content=MARK, path=f"/{MARK}.txt", title=MARK, tags={MARK: MARK})
    ids = {
        "project_id": project.public_id,
        "user_id": user_with(allow(), username=MARK).public_id,
        "policy_id": policy(allow()).public_id,
        "api_key_id": ApiKey.objects.get(name="key-a").public_id,
        "file_id": made("files/upload/base64", **a, content="eA==", filename=f"{MARK}-2.txt"),
        "document_id": document,
        "memory_id": memory,
        "entry_id": made("memory-entries", memory_id=memory, content=MARK, tags=[MARK]),
        "token": "nothing",
    }
    in_b = user_with(allow(on=f"srn:{cast.project_b.public_id}:*:*"), username="of-b")
    callers = {
        "outsider": cast.outsider,
        "key of B": cast.b,
        "policies for B": session_of(in_b),
        "nobody": cast.anonymous,
    }
    return World(cast, ids, callers)


def send(client: APIClient, operation: Operation, ids: Ids) -> Any:
    path = re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], operation.path)
    if operation.id in QUERIES:
        path += "?" + "&".join(f"{name}={value}" for name, value in QUERIES[operation.id](ids).items())
    if operation.id not in BODIES:
        return client.generic(operation.method, path)
    body = BODIES[operation.id](ids)
    if operation.id == "uploadFile":
        return client.post(path, body, format="multipart")
    return client.generic(operation.method, path, json.dumps(body), content_type="application/json")


def content_of(response: Any) -> str:
    raw = b"".join(response.streaming_content) if response.streaming else response.content
    return str(raw.decode())


def is_empty(response: Any) -> bool:
    """Tell whether a 200 holds nothing: an empty page, or no result."""
    body = response.json()
    return bool(body.get("data", body.get("results")) == [] and body.get("total", 0) == 0)


def test_the_table_of_bodies_knows_every_operation() -> None:
    assert {each.id for each in OPERATIONS if each.has_body} - PUBLIC == set(BODIES) - {"uploadFileWithToken"}
    assert len(GUARDED) > 50


@pytest.mark.parametrize("operation", GUARDED, ids=lambda each: each.id)
def test_what_is_not_theirs_is_nothing_to_them(world: World, operation: Operation) -> None:
    before = Document.objects.count(), ApiKey.objects.count()
    for who, client in world.callers.items():
        response = send(client, operation, world.ids)
        seen = content_of(response)
        assert MARK not in seen, (who, seen)
        if who == "nobody":
            assert response.status_code == 401
        elif response.status_code in {200, 201} and operation.id in NO_ROWS:
            continue
        elif response.status_code == 200:
            assert is_empty(response), (who, seen)
        else:
            assert response.status_code in {400, 403, 404}, (who, seen)
            code = response.json()["error"]["code"]
            assert response.status_code != 400 or code in REFERENCES, (who, seen)
    assert before == (Document.objects.count(), ApiKey.objects.count())


NO_ROWS = {"createEmbeddings", "listProjects", "listApiKeys", "listMemories", "listDocuments", "listFiles"}
REFERENCES = {"FILE_NOT_FOUND", "POLICY_NOT_FOUND", "VALIDATION_FAILED"}


@pytest.mark.parametrize("operation", GUARDED, ids=lambda each: each.id)
def test_a_foreign_id_is_answered_as_an_unknown_one_by_the_same_queries(world: World, operation: Operation) -> None:
    for who, client in world.callers.items():
        send(client, operation, world.ids)  # the first use of a key is noted
        answers = []
        for ids in (world.ids, UNKNOWN):
            with CaptureQueriesContext(connection) as queries:
                response = send(client, operation, ids)
            shapes = [re.sub(r"'[^']*'|\b\d+\b", "?", query["sql"]) for query in queries]
            text = content_of(response)
            for name, value in ids.items():
                text = text.replace(value, name)
            answers.append((response.status_code, text, shapes))
        assert answers[0] == answers[1], who


def test_every_operation_is_guarded_by_an_action_or_is_known_to_be_open() -> None:
    table = permission_table()
    assert {row.operation_id for row in table} == {each.id for each in OPERATIONS}
    assert {row.operation_id for row in table if row.action is None} == PUBLIC | OWN
