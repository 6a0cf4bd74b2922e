"""Texts and scores made for the test: best windows, signs, and one order for equal scores."""

import re

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from embeddings.services import embed_documents
from memories.models import EntryVector, Memory, MemoryEntry
from tests.conftest import Cast
from tests.knowledge.exact import exact_cosines
from tests.knowledge.world import contents, ids, new_document, search
from tests.memories.fakes import FakeEmbedder, at_cosine, use_embedder
from tests.memories.rest import Record, new_memory, write


def test_a_long_text_scores_by_its_best_window(cast: Cast) -> None:
    hay = " ".join(f"Paragraph {number} is about the weather in town {number}." for number in range(60))
    needle = "The spare key lies under the third flower pot."
    memory = new_memory(cast.a)["id"]
    for place, content in enumerate([f"{hay} {needle}", f"{needle} {hay}", hay]):
        new_document(cast.a, content, path=f"/{place}")
        write(cast.a, memory, content, force=True)
    assert EntryVector.objects.filter(window__gt=1).exists()
    results = search(cast.a, query="Where is the spare key?", memory_ids=[memory], limit=100)
    assert len(results) == len(set(ids(results))) == 6
    for result, cosine in zip(results, exact_cosines("Where is the spare key?", contents(results)), strict=True):
        assert result["similarity_score"] == pytest.approx(max(cosine, 0.0), abs=1e-6)
    assert {result["content"] for result in results[-2:]} == {hay}


def test_the_floor_is_taken_from_the_raw_score(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cosines = {"below": -0.3, "none": 0.0, "half": 0.5, "query": 1.0}
    use_embedder(monkeypatch, FakeEmbedder(lambda text: at_cosine(cosines[text])))
    memory = new_memory(cast.a)["id"]
    for name in ("below", "none", "half"):
        write(cast.a, memory, name, force=True)
    body: Record = {"query": "query", "memory_ids": [memory]}
    assert [(row["content"], row["score"]) for row in search(cast.a, **body)] == [
        ("half", pytest.approx(0.5)),
        ("none", pytest.approx(0.0)),
        ("below", 0.0),
    ]
    assert contents(search(cast.a, **body, min_score=0)) == ["half", "none"]
    assert contents(search(cast.a, **body, min_score=None)) == ["half", "none", "below"]


@pytest.fixture
def twins(cast: Cast) -> str:
    """Seven documents and nine entries of one text, and one neighbour of each; return the memory."""
    memory: str = new_memory(cast.a)["id"]
    for place in range(9):
        if place < 7:
            new_document(cast.a, "The lift is out of order.", path=f"/{9 - place}")
        write(cast.a, memory, "The lift is out of order.", force=True)
    new_document(cast.a, "The lift works again.", path="/other")
    write(cast.a, memory, "The stairs are closed.", force=True)
    return memory


def check_total_order(cast: Cast, memory: str) -> None:
    body: Record = {"query": "the lift", "memory_ids": [memory]}
    whole = search(cast.a, **body, limit=100)
    assert len(whole) == 18
    keys = [(-row["score"], row["source_type"], row_id) for row, row_id in zip(whole, ids(whole), strict=True)]
    assert keys == sorted(keys)
    assert len({score for score, _, _ in keys}) == 3
    for limit in range(1, 19):
        assert search(cast.a, **body, limit=limit) == whole[:limit], f"the best {limit} are another list"
    assert all(search(cast.a, **body, limit=5) == whole[:5] for _ in range(5))


def test_equal_scores_have_one_order_for_every_limit(cast: Cast, twins: str) -> None:
    check_total_order(cast, twins)


@pytest.mark.parametrize("query", ["", "the lift"])
@pytest.mark.parametrize("scan", [10_000, 0])
def test_ties_go_by_code_point_under_any_collation(
    cast: Cast, twins: str, monkeypatch: pytest.MonkeyPatch, query: str, scan: int
) -> None:
    """The database of an operator may sort "a" before "B", and then cut off what Python would have kept."""
    monkeypatch.setattr("knowledge.nearest.EXACT_SCAN_ROWS", scan)
    with CaptureQueriesContext(connection) as queries:
        assert search(cast.a, query=query, memory_ids=[twins], document_paths=["/"], limit=5)
    searches = [sql["sql"] for sql in queries if "tenancy_apikey" not in sql["sql"]]
    orders = [part for sql in searches for part in re.findall(r"ORDER BY (.*?)(?: LIMIT|$)", sql, re.DOTALL)]
    by_id = [order for order in orders if re.search("public_id|tie", order)]
    assert len(by_id) >= 2
    assert not [order for order in by_id if not re.search(r'(public_id|tie) COLLATE "C"', order)]


def test_a_zero_vector_matches_nothing(cast: Cast) -> None:
    """None can be written; one that came in some other way must not look like a match."""
    memory = new_memory(cast.a)["id"]
    write(cast.a, memory, "The lift is out of order.")
    space = embed_documents(["x"]).space
    assert space is not None
    row = Memory.objects.get()
    broken = MemoryEntry.objects.create(project_id=row.project_id, memory=row, content="zero", content_hash=b"0" * 32)
    zero = np.zeros(space.dimensions, dtype=np.float32)
    EntryVector.objects.create(entry=broken, memory=row, project_id=row.project_id, space=space, embedding=zero)
    for limit in (1, 10):
        assert contents(search(cast.a, query="zero", memory_ids=[memory], limit=limit)) == ["The lift is out of order."]
