"""``explain``: how each source was searched, for admins only."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.api.answers import body_of
from tests.knowledge.world import SEARCH, World, search
from tests.memories.rest import assert_error
from tests.tenancy.policies import allow, session_of, user_with


def explained(client: APIClient, **body: Any) -> dict[str, Any]:
    answer: dict[str, Any] = body_of(client.post(SEARCH, {**body, "explain": True}, format="json"))
    assert set(answer) == {"results", "explain"}
    return answer


def without_times(answer: dict[str, Any]) -> list[dict[str, Any]]:
    sources = answer["explain"]["sources"]
    assert all(source["ms"] > 0 for source in sources)
    return [{name: value for name, value in source.items() if name != "ms"} for source in sources]


def test_each_source_says_how_it_was_searched(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    body: dict[str, Any] = {"query": "tea", "memory_tags": ["*"], "project_id": world.cast.project_a.public_id}
    answer = explained(world.cast.admin, **body)
    assert answer["results"] == search(world.cast.admin, **body)
    assert answer["explain"]["embedding_ms"] > 0
    exact = {"way": "exact", "exact_up_to": 2_000, "index_fell_short": False}
    assert without_times(answer) == [
        {"source_type": "document", "counted": 12, **exact},
        {"source_type": "memory", "counted": 5, **exact},
    ]
    monkeypatch.setattr("knowledge.nearest.EXACT_SCAN_ROWS", 3)
    indexed = explained(world.cast.admin, **{**body, "limit": 2})
    assert [source["way"] for source in indexed["explain"]["sources"]] == ["index", "index"]
    assert [source["exact_up_to"] for source in indexed["explain"]["sources"]] == [3, 3]
    monkeypatch.setattr("knowledge.nearest.EXACT_SCAN_ROWS", 0)
    short = explained(world.cast.admin, **{**body, "limit": 100})
    assert [source["index_fell_short"] for source in short["explain"]["sources"]] == [True, True]
    assert len(short["results"]) == 16


def test_without_a_query_nothing_is_embedded_and_nothing_chosen(world: World) -> None:
    answer = explained(world.cast.admin, memory_tags=["*"], document_paths=["/"])
    assert answer["explain"]["embedding_ms"] is None
    listed = {"way": "listed", "counted": None, "exact_up_to": None, "index_fell_short": False}
    assert without_times(answer) == [
        {"source_type": "document", **listed},
        {"source_type": "memory", **listed},
    ]


def test_a_query_that_says_nothing_is_explained_by_its_embedding(world: World) -> None:
    answer = explained(world.cast.admin, query="\u200b")
    assert answer["results"] == answer["explain"]["sources"] == []


def test_only_an_admin_has_it_explained(world: World) -> None:
    for caller in (world.cast.a, session_of(user_with(allow("*")))):
        answer = caller.post(SEARCH, {"query": "tea", "explain": True}, format="json")
        assert_error(answer, 403, "FORBIDDEN")
        assert answer.json()["error"]["message"] == "Only an admin may have a search explained."
        assert set(body_of(caller.post(SEARCH, {"query": "tea", "explain": False}, format="json"))) == {"results"}


@pytest.mark.parametrize("value", [1, "true", None, []])
def test_explain_is_true_or_false(world: World, value: Any) -> None:
    answer = world.cast.admin.post(SEARCH, {"query": "tea", "explain": value}, format="json")
    assert_error(answer, 400, "VALIDATION_FAILED")
