"""Which sources a search looks through, and what is no search at all."""

from typing import Any

import pytest

from tests.knowledge.world import MANUAL, SEARCH, SUPERSEDED, SWORDFISH, VECTORLESS, World, contents, search
from tests.memories.rest import Record, assert_error, assert_names_field, send

Q = "What does the user drink?"
PREFS, DOCUMENT, UNKNOWN = "<Prefs>", "<refund>", "nothing_like_it"


def filled(world: World, body: Record) -> Record:
    """Put the ids of this world where the table names them."""
    names = {PREFS: world.memories["Prefs"], DOCUMENT: world.documents["/policies/refund.txt"]}
    return {
        field: [names.get(item, item) for item in value] if isinstance(value, list) else value
        for field, value in body.items()
    }


@pytest.mark.parametrize(
    ("body", "sources"),
    [
        ({"query": Q}, {"document"}),
        ({"query": Q, "memory_ids": [PREFS]}, {"document", "memory"}),
        ({"query": Q, "memory_tags": ["ui"]}, {"document", "memory"}),
        ({"query": Q, "document_ids": [DOCUMENT]}, {"document"}),
        ({"query": Q, "document_paths": ["/"], "memory_ids": [PREFS]}, {"document", "memory"}),
        ({"query": Q, "memory_ids": []}, {"document"}),
        ({"query": Q, "memory_ids": None, "memory_tags": None}, {"document"}),
        ({"query": Q, "memory_ids": [UNKNOWN]}, {"document"}),
        ({"memory_ids": [PREFS]}, {"memory"}),
        ({"memory_tags": ["*"]}, {"memory"}),
        ({"document_ids": [DOCUMENT]}, {"document"}),
        ({"document_paths": ["/"]}, {"document"}),
        ({"document_paths": ["/"], "memory_tags": ["*"]}, {"document", "memory"}),
        ({"document_ids": [DOCUMENT], "memory_ids": [PREFS]}, {"document", "memory"}),
        ({"query": "", "memory_ids": [PREFS]}, {"memory"}),
        ({"query": " \n\t", "memory_ids": [PREFS]}, {"memory"}),
        ({"query": None, "memory_ids": [PREFS]}, {"memory"}),
        ({"query": None, "document_ids": [DOCUMENT]}, {"document"}),
        ({"document_ids": [UNKNOWN], "memory_ids": [PREFS]}, {"memory"}),
    ],
)
def test_the_filters_choose_the_sources(world: World, body: Record, sources: set[str]) -> None:
    results = search(world.cast.a, limit=1_000, **filled(world, body))
    assert {result["source_type"] for result in results} == sources
    scored = bool((body.get("query") or "").strip())
    assert {"score" in result for result in results} == {scored}
    assert {"similarity_score" in result for result in results} == {scored}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": " \n "},
        {"query": None},
        {"memory_ids": [], "memory_tags": [], "document_paths": [], "document_ids": []},
        {"query": "", "memory_ids": [], "limit": 5},
        {"memory_ids": None, "document_ids": None},
        {"limit": 3, "min_score": 0.5},
    ],
)
def test_a_search_for_nothing_is_refused(world: World, body: Record) -> None:
    for client, extra in [
        (world.cast.a, {}),
        (world.cast.a, {"project_id": world.cast.project_a.public_id}),
        (world.cast.admin, {}),
        (world.cast.outsider, {}),
    ]:
        assert_error(client.post(SEARCH, {**body, **extra}, format="json"), 400, "VALIDATION_FAILED")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", 0),
        ("limit", -1),
        ("limit", "abc"),
        ("limit", "5"),
        ("limit", 1.5),
        ("limit", True),
        ("limit", [5]),
        ("min_score", -0.1),
        ("min_score", 1.1),
        ("min_score", 2),
        ("min_score", "abc"),
        ("min_score", True),
        ("query", 5),
        ("query", ["x"]),
        ("query", "nul\0"),
        ("query", "\ud800"),
        ("query", "x" * 100_001),
        ("memory_ids", 5),
        ("memory_ids", [5]),
        ("memory_ids", [None]),
        ("memory_ids", {"a": 1}),
        ("memory_ids", ["nul\0"]),
        ("memory_tags", ["\udfff"]),
        ("memory_tags", [["ui"]]),
        ("document_ids", True),
        ("document_ids", [""]),
        ("document_paths", ["nul\0"]),
        ("document_paths", 7),
        ("document_paths", ["/" * 1_025]),
    ],
)
def test_a_value_of_another_kind_is_refused(world: World, field: str, value: object) -> None:
    body = {"query": "tea", "memory_ids": ["x"], field: value}
    assert_names_field(send(world.cast.a, "post", SEARCH, body), field)


def test_unknown_fields_and_broken_bodies_are_refused(world: World) -> None:
    post = world.cast.a.post
    assert_error(
        post(SEARCH, {"query": "x", "minScore": 0.5, "top_k": 3}, format="json"),
        400,
        "VALIDATION_FAILED",
        unknownFields=["minScore", "top_k"],
    )
    for raw in ("null", "[]", '"x"', '{"query"', ""):
        assert_error(post(SEARCH, raw, content_type="application/json"), 400, "VALIDATION_FAILED")
    assert_error(post(SEARCH, "x", content_type="text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE")
    for method in ("get", "put", "delete", "patch"):
        assert_error(getattr(world.cast.a, method)(SEARCH), 405, "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize(
    ("limit", "count"),
    [(..., 10), (None, 10), (1, 1), (3, 3), (11, 11), (1_000, 17), (5_000, 17), (2**40, 17)],
)
@pytest.mark.parametrize("query", ["water", ""])
def test_the_limit(world: World, limit: Any, count: int, query: str) -> None:
    """There are 12 chunks and 6 valid entries in project A, one of these without a vector."""
    body: Record = {"query": query, "memory_tags": ["*"], "memory_ids": list(world.memories.values())}
    if not query:
        body["document_ids"] = list(world.documents.values())
    if limit is not ...:
        body["limit"] = limit
    results = search(world.cast.a, **body)
    assert len(results) == (count if query or count < 17 else 18)


def test_no_more_than_a_thousand(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def watched(*, scope: object, search: Any) -> list[Any]:
        seen.append(search.limit)
        return []

    monkeypatch.setattr("knowledge.api.views.search_knowledge", watched)
    for limit in (999, 1_000, 1_001, 5_000):
        search(world.cast.a, query="x", limit=limit)
    assert seen == [999, 1_000, 1_000, 1_000]


@pytest.mark.parametrize("field", ["memory_ids", "memory_tags", "document_ids", "document_paths"])
def test_a_single_string_is_a_list_of_one(world: World, field: str) -> None:
    values = {
        "memory_ids": world.memories["Prefs"],
        "memory_tags": "ui",
        "document_ids": world.documents[MANUAL],
        "document_paths": "/policies/",
    }
    for query in ("", "tea"):
        single = search(world.cast.a, query=query, **{field: values[field]})
        assert single == search(world.cast.a, query=query, **{field: [values[field]]})
        assert single


def test_without_a_query_vectorless_entries_are_read_and_invalidated_ones_never(world: World) -> None:
    prefs = world.memories["Prefs"]
    read = contents(search(world.cast.a, memory_ids=[prefs]))
    assert read == ["The user prefers dark mode.", "The user drinks green tea.", VECTORLESS]
    found = contents(search(world.cast.a, memory_ids=[prefs], document_ids=["none"], query=VECTORLESS))
    assert sorted(found) == ["The user drinks green tea.", "The user prefers dark mode."]
    for body in ({"query": SUPERSEDED}, {}):
        results = search(world.cast.a, memory_ids=[prefs], memory_tags=["ui"], limit=100, **body)
        assert SUPERSEDED not in contents(results)
        assert SWORDFISH not in contents(results)
