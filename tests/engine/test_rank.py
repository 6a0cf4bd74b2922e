"""Orders are total, filters are raw."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.engine.rank import MAX_LIMIT, LimitRefused, Source, best_of, effective_limit, merge_ranked, merge_unranked


@dataclass(frozen=True, slots=True)
class Row:
    source: Source
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Piece:
    id: str
    document_id: str
    path: str | None
    chunk_index: int


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    created_at: datetime


def _document(id: str, score: float) -> Row:
    return Row(Source.DOCUMENT, id, score)


def _memory(id: str, score: float) -> Row:
    return Row(Source.MEMORY, id, score)


def test_best_first_ties_by_source_then_id() -> None:
    memories = [_memory("a", 0.5), _memory("b", 0.9)]
    documents = [_document("z", 0.5), _document("y", 0.5)]
    merged = merge_ranked([memories, documents], limit=10)
    assert [row.id for row in merged] == ["b", "y", "z", "a"]


def test_what_has_no_number_for_a_score_is_left_out() -> None:
    rows = [_document("a", 0.7), _document("d", math.nan), _document("c", -0.1)]
    assert [row.id for row in merge_ranked([rows], limit=10)] == ["a", "c"]


@pytest.mark.parametrize(
    ("min_score", "limit", "left"),
    [(None, 10, "abc"), (None, 2, "ab"), (0.7, 10, "a"), (0.0, 10, "ab"), (0.0, 1, "a"), (0.8, 10, "")],
)
def test_min_score_filters_on_the_raw_score_before_the_cut(min_score: float | None, limit: int, left: str) -> None:
    rows = [_document("a", 0.7), _document("b", 0.6999), _document("c", -0.1)]
    assert "".join(row.id for row in best_of(rows, limit=limit, min_score=min_score)) == left


_ROWS = st.lists(
    st.builds(
        Row, st.sampled_from(Source), st.text("ab", min_size=1, max_size=3), st.sampled_from([0.1, 0.5, 0.5, 1.0])
    ),
    unique_by=lambda row: (row.source, row.id),
)


@given(_ROWS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_input_order(rows: list[Row], limit: int, random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    expected = sorted(rows, key=lambda row: (-row.score, row.source.value, row.id))[:limit]
    assert merge_ranked([shuffled[::2], shuffled[1::2]], limit=limit) == expected


def test_reading_order_without_a_query() -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    pieces = [
        Piece("p4", "d9", None, 0),
        Piece("p2", "d1", "/a", 10),
        Piece("p1", "d1", "/a", 2),
        Piece("p3", "d2", "/Z", 0),
        Piece("p5", "d8", None, 1),
    ]
    entries = [Entry("m3", start + timedelta(1)), Entry("m2", start), Entry("m1", start)]
    merged = merge_unranked(pieces, entries, limit=100)
    assert [row.id for row in merged] == ["p3", "p1", "p2", "p5", "p4", "m1", "m2", "m3"]
    assert merge_unranked(pieces, entries, limit=2) == merged[:2]


@pytest.mark.parametrize(("limit", "effective"), [(None, 10), (1, 1), (1000, 1000), (1_000_000, MAX_LIMIT)])
def test_effective_limit(limit: int | None, effective: int) -> None:
    assert effective_limit(limit) == effective


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(LimitRefused):
        effective_limit(limit)
