"""Searches keep to the caller's policies: in both scans, with every filter, and still fill the limit."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.api.answers import body_of, error_of
from tests.conftest import Cast
from tests.tenancy.policies import allow, deny, key_with, session_of, user_with

SEARCH, DOCUMENTS, MEMORIES, ENTRIES = (
    f"/api/v1/{name}" for name in ("knowledge/search", "documents", "memories", "memory-entries")
)
TOPIC = "The harbour of the old town is deep enough for large ships"


@pytest.fixture(params=[10_000, 0], ids=["exact", "index"], autouse=True)
def _each_scan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowledge.nearest.EXACT_SCAN_ROWS", request.param)


@pytest.fixture
def memories(cast: Cast) -> dict[str, str]:
    """Ten documents in two folders, every second one tagged, and two memories of three entries each."""
    for number in range(10):
        folder = "open" if number % 2 else "closed"
        tags = {"secret": "yes"} if number % 4 == 1 else {}
        body = {"content": f"{TOPIC}, said report {number}.", "path": f"/{folder}/{number}.txt", "tags": tags}
        body_of(cast.a.post(DOCUMENTS, body, format="json"), 201)
    made = {}
    for name in ("blue", "red"):
        body = {"name": name, "tags": [f"team:{name}"]}
        made[name] = body_of(cast.a.post(MEMORIES, body, format="json"), 201)["id"]
        for number in range(3):
            fact = {"memory_id": made[name], "content": f"{TOPIC}, wrote {name} {number}.", "force": True}
            body_of(cast.a.post(ENTRIES, fact, format="json"), 201)
    return made


def caller(*statements: dict[str, Any]) -> APIClient:
    return session_of(user_with(*statements))


def found(client: APIClient, **body: Any) -> list[str]:
    results = body_of(client.post(SEARCH, body, format="json"))["results"]
    return [result.get("path") or result["memory_name"] for result in results]


def open_paths(secret: bool = True) -> set[str]:
    return {f"/open/{number}.txt" for number in (1, 3, 5, 7, 9) if secret or number % 4 != 1}


@pytest.mark.parametrize("query", ["", TOPIC])
def test_paths_and_tags_narrow_documents(cast: Cast, memories: dict[str, str], query: str) -> None:
    client = caller(
        allow("knowledge:SearchKnowledge", on="srn:*:document:/open/*"),
        deny(StringEquals={"soat:ResourceTag/secret": "yes"}),
    )
    paths = found(client, query=query, document_paths=["/"], limit=2)
    assert len(paths) == 2
    assert set(paths) <= open_paths(secret=False)
    assert set(found(client, query=query, document_paths=["/"], limit=100)) == open_paths(secret=False)
    assert found(client, query=query, document_paths=["/closed/"]) == []
    assert found(client, query=query, memory_tags=["*"], document_paths=["/closed/"]) == []


@pytest.mark.parametrize("query", ["", TOPIC])
def test_what_may_not_be_read_is_not_found_either(cast: Cast, memories: dict[str, str], query: str) -> None:
    narrow = caller(
        allow("knowledge:SearchKnowledge", "memories:*"), allow("documents:GetDocument", on="srn:*:document:/open/*")
    )
    assert set(found(narrow, query=query, document_paths=["/"], limit=100)) == open_paths()


def test_a_denied_read_hides_from_the_search(cast: Cast, memories: dict[str, str]) -> None:
    client = caller(allow("knowledge:*"), deny("documents:GetDocument", on="srn:*:document:/closed/*"))
    assert set(found(client, query=TOPIC, limit=100)) == open_paths()


@pytest.mark.parametrize("query", ["", TOPIC])
def test_memories_are_narrowed_by_name_and_by_tag(cast: Cast, memories: dict[str, str], query: str) -> None:
    both = list(memories.values())
    for number, statement in enumerate(
        (
            allow("knowledge:*", on=f"srn:*:memory:{memories['blue']}"),
            allow("knowledge:*", StringEquals={"soat:ResourceTag/team": "blue"}),
            allow("knowledge:*", on="srn:*:memory-entry:*", StringNotEquals={"soat:ResourceTag/team": "red"}),
        )
    ):
        client = session_of(user_with(statement, username=f"worker-{number}"))
        assert found(client, query=query, memory_ids=both, memory_tags=["*"], limit=100) == ["blue"] * 3
        assert found(client, query=query, memory_ids=[memories["red"]]) == []
        assert len(found(client, query=query, memory_ids=both, limit=2)) == 2


def test_a_key_searches_where_owner_and_key_both_may(cast: Cast, memories: dict[str, str]) -> None:
    owner = user_with(allow("knowledge:*", on="srn:*:document:/open/*"))
    _, client = key_with(owner, allow("knowledge:*", StringNotEquals={"soat:ResourceTag/secret": "yes"}))
    assert set(found(client, query=TOPIC, limit=100)) == open_paths(secret=False)


def test_a_project_that_is_not_granted_is_not_searched(cast: Cast, memories: dict[str, str]) -> None:
    a, b = cast.project_a.public_id, cast.project_b.public_id
    client = caller(allow("knowledge:*", on=f"srn:{b}:*:*"))
    assert found(client, query=TOPIC, memory_tags=["*"]) == []
    error_of(client.post(SEARCH, {"query": TOPIC, "project_id": a}, format="json"), 403, "FORBIDDEN")
    nobody = session_of(user_with(username="nobody"))
    assert found(nobody, query=TOPIC, memory_ids=list(memories.values())) == []
