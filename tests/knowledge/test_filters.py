"""What each filter lets through, alone and together, with a query and without."""

import pytest

from tests.knowledge.world import (
    MANUAL,
    MANUAL_CHUNKS,
    MEMORIES,
    SUPERSEDED,
    TEXTS,
    VECTORLESS,
    World,
    contents,
    search,
)
from tests.memories.rest import Record

QUERIES = ["", "the garden"]
DARK, GREEN = "The user prefers dark mode.", "The user drinks green tea."
ALICE, BOB, DOG = "Alice leads the data team.", "Bob answers calls on Fridays.", "The office dog is called Rex."


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["/policies/"], {"/policies/refund.txt", "/policies/shipping.txt"}),
        (["policies/"], {"/policies/refund.txt", "/policies/shipping.txt"}),
        (["/policies"], {"/policies/refund.txt", "/policies/shipping.txt", "/policies.txt"}),
        (["policies."], {"/policies.txt"}),
        (["//policies//r"], {"/policies/refund.txt"}),
        (["/policies/refund.txt"], {"/policies/refund.txt"}),
        (["/POLICIES"], set()),
        (["/100%"], {"/100%/sale.txt"}),
        (["/100"], {"/100%/sale.txt", "/100x/lift.txt"}),
        (["/%_"], set()),
        (["%"], set()),
        (["/%"], set()),
        (["/a_b"], {"/a_b/notes.txt"}),
        (["/_"], set()),
        (["/back\\"], {"/back\\slash.txt"}),
        (["/back\\\\"], set()),
        (["/"], set(TEXTS) - {""} | {MANUAL}),
        (["/a_b/", "/axb/"], {"/a_b/notes.txt", "/axb/notes.txt"}),
        (["/nothing", "/man"], {MANUAL}),
        (["/" + "x" * 1_000], set()),
    ],
)
@pytest.mark.parametrize("query", QUERIES)
def test_document_paths_are_plain_prefixes(world: World, query: str, paths: list[str], found: set[str]) -> None:
    results = search(world.cast.a, query=query, document_paths=paths, limit=100)
    assert {result["path"] for result in results} == found
    expected = sum(len(MANUAL_CHUNKS) if path == MANUAL else 1 for path in found)
    assert len(results) == expected


@pytest.mark.parametrize(
    ("named", "paths", "found"),
    [
        (["/policies/refund.txt"], None, {"/policies/refund.txt"}),
        (["/policies/refund.txt", "/manual.txt"], ["/policies"], {"/policies/refund.txt"}),
        (["/manual.txt"], ["/policies"], set()),
        ([""], None, {""}),
        ([""], ["/"], set()),
        ([MANUAL, MANUAL], None, {MANUAL}),
    ],
)
@pytest.mark.parametrize("query", QUERIES)
def test_document_ids_and_paths_narrow_each_other(
    world: World, query: str, named: list[str], paths: list[str] | None, found: set[str]
) -> None:
    ids = [world.documents[path] for path in named]
    results = search(world.cast.a, query=query, document_ids=ids, document_paths=paths, limit=100)
    assert {result.get("path", "") for result in results} == found


@pytest.mark.parametrize(
    ("named", "tags", "found"),
    [
        (["Prefs"], None, {DARK, GREEN}),
        (["Prefs", "Office"], None, {DARK, GREEN, DOG}),
        (["Office"], ["ui"], {DOG, DARK, ALICE}),
        (["Office"], ["nothing"], {DOG}),
        (None, ["ui"], {DARK, ALICE}),
        (None, ["UI"], {DARK, ALICE}),
        (None, ["u?"], {DARK, ALICE}),
        (None, ["u"], set()),
        (None, ["customer-*"], {DARK, GREEN}),
        (None, ["CUSTOMER-1"], {DARK, GREEN}),
        (None, ["team"], {ALICE, BOB}),
        (None, ["100%"], {ALICE}),
        (None, ["100?"], {ALICE, BOB}),
        (None, ["a_b"], {BOB}),
        (None, ["a[_]b"], set()),
        (None, ["[a]_b"], set()),
        (None, ["_"], set()),
        (None, ["%"], set()),
        (None, ["*"], {DARK, GREEN, ALICE, BOB}),
        (None, ["team", "support"], {ALICE, BOB, DARK, GREEN}),
        (None, ["x' OR '1'='1", "\\"], set()),
    ],
)
@pytest.mark.parametrize("query", QUERIES)
def test_memory_ids_and_tags_are_a_union(
    world: World, query: str, named: list[str] | None, tags: list[str] | None, found: set[str]
) -> None:
    ids = None if named is None else [world.memories[name] for name in named]
    results = search(world.cast.a, query=query, memory_ids=ids, memory_tags=tags, limit=100, document_ids=["none"])
    vectorless = {VECTORLESS} if not query and DARK in found else set()
    assert set(contents(results)) == found | vectorless
    assert len(results) == len(found | vectorless)


def test_a_document_result_has_the_fields_of_the_contract(world: World) -> None:
    (read,) = search(world.cast.a, document_paths=["/policies/refund"])
    document = world.cast.a.get(f"/api/v1/documents/{read['document_id']}").json()
    assert read == {
        "source_type": "document",
        "document_id": world.documents["/policies/refund.txt"],
        "chunk_id": read["chunk_id"],
        "file_id": document["file_id"],
        "project_id": world.cast.project_a.public_id,
        "path": "/policies/refund.txt",
        "filename": document["filename"],
        "size": 47,
        "content": TEXTS["/policies/refund.txt"],
        "created_at": read["created_at"],
        "updated_at": read["updated_at"],
        **{name: document[name] for name in ("title", "metadata", "tags") if name in document},
    }
    (found,) = search(world.cast.a, document_paths=["/policies/refund"], query="refund")
    assert {**read, "score": found["score"], "similarity_score": found["score"]} == found


def test_a_memory_result_has_the_fields_of_the_contract(world: World) -> None:
    read = search(world.cast.a, memory_ids=[world.memories["Team"]])
    entry = world.cast.a.get(f"/api/v1/memory-entries/{read[0]['entry_id']}").json()
    assert read[0] == {
        "source_type": "memory",
        "entry_id": world.entries[ALICE],
        "memory_id": world.memories["Team"],
        "memory_name": "Team",
        "content": ALICE,
        "tags": ["UI", "100%"],
        "created_at": entry["created_at"],
        "updated_at": entry["updated_at"],
    }
    assert search(world.cast.a, memory_ids=[world.memories["Office"]])[0]["tags"] is None


def test_the_reading_order(world: World) -> None:
    """Documents by path and chunk, those without a path last; then entries, the oldest first."""
    facts = [content for _, entries in MEMORIES.values() for content in entries]
    body: Record = {
        "document_ids": list(world.documents.values())[::-1],
        "memory_ids": list(world.memories.values())[::-1],
        "limit": 100,
    }
    results = search(world.cast.a, **body)
    paths = [result["path"] for result in results if "path" in result]
    assert paths == sorted(paths)
    documents = [result for result in results if result["source_type"] == "document"]
    assert results[: len(documents)] == documents
    assert "path" not in documents[-1]
    assert contents([result for result in documents if result.get("path") == MANUAL]) == MANUAL_CHUNKS
    assert contents(results[len(documents) :]) == [*facts, VECTORLESS]
    assert SUPERSEDED not in contents(results)
    for limit in (1, 5, 12, 13, 17):
        assert search(world.cast.a, **{**body, "limit": limit}) == results[:limit]
    assert search(world.cast.a, **body, min_score=1) == results
