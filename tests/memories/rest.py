"""The REST calls that these tests make, and the one shape of an error."""

import json
from typing import Any

from rest_framework.test import APIClient

MEMORIES = "/api/v1/memories"
ENTRIES = "/api/v1/memory-entries"
UNKNOWN_MEMORY = "mem_doesnotexist0000"
UNKNOWN_ENTRY = "mem_entry_doesnotexist0000"

Record = dict[str, Any]


def new_memory(client: APIClient, **fields: object) -> Record:
    """Create a memory and return its record."""
    response = client.post(MEMORIES, {"name": "Facts", **fields}, format="json")
    assert response.status_code == 201, response.content
    record: Record = response.json()
    return record


def write(client: APIClient, memory_id: str, content: str, **fields: object) -> Record:
    """Write a fact and return the answer, whose status must fit its action."""
    response = client.post(ENTRIES, {"memory_id": memory_id, "content": content, **fields}, format="json")
    assert response.status_code in {200, 201}, response.content
    record: Record = response.json()
    assert response.status_code == (201 if record["action"] == "created" else 200)
    return record


def listed(client: APIClient, memory_id: str, **query: str) -> list[Record]:
    """Return the first page of a memory's entries."""
    response = client.get(ENTRIES, {"memory_id": memory_id, **query})
    assert response.status_code == 200, response.content
    rows: list[Record] = response.json()["data"]
    return rows


def entry_of(client: APIClient, entry_id: str) -> Record:
    """Return an entry by its id."""
    response = client.get(f"{ENTRIES}/{entry_id}")
    assert response.status_code == 200, response.content
    record: Record = response.json()
    return record


def assert_error(response: Any, status: int, code: str, **meta: object) -> None:
    """Check an error's status, code and shape, and the named parts of its ``meta``."""
    assert response.status_code == status, response.content
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) <= {"code", "message", "meta"}
    assert body["error"]["code"] == code
    assert body["error"]["message"]
    found = body["error"].get("meta", {})
    assert {name: found.get(name) for name in meta} == meta


def assert_names_field(response: Any, field: str) -> None:
    """Check that a 400 names the field at fault and nothing else."""
    assert_error(response, 400, "VALIDATION_FAILED")
    assert list(response.json()["error"]["meta"]["fields"]) == [field]


def send(client: APIClient, method: str, path: str, body: object) -> Any:
    """Send a body as ASCII JSON, in which any string can be written, a lone surrogate too."""
    return getattr(client, method)(path, json.dumps(body), content_type="application/json")
