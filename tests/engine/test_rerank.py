"""What a reranker has read comes first and by its scores; nothing is lost, doubled or lifted."""

from dataclasses import dataclass
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.engine.rank import Source, merge_ranked
from soat.engine.rerank import reranked


@dataclass(frozen=True, slots=True)
class Row:
    source: Source
    id: str
    score: float


A, B = Row(Source.DOCUMENT, "a", 0.9), Row(Source.MEMORY, "b", 0.8)
C, D = Row(Source.DOCUMENT, "c", 0.7), Row(Source.MEMORY, "d", -0.1)


@pytest.mark.parametrize(
    ("relevances", "expected"),
    [
        ([], [("a", 0.9, None), ("b", 0.8, None), ("c", 0.7, None), ("d", -0.1, None)]),
        ([0.1, 0.2, 0.3, 0.4], [("d", 0.4, 1), ("c", 0.3, 2), ("b", 0.2, 3), ("a", 0.1, 4)]),
        ([0.5, 0.5, 0.5, 0.5], [("a", 0.5, 1), ("c", 0.5, 2), ("b", 0.5, 3), ("d", 0.5, 4)]),
        ([0.2, 0.6], [("b", 0.6, 1), ("a", 0.2, 2), ("c", 0.2, None), ("d", -0.1, None)]),
        ([0.95, 1.0], [("b", 1.0, 1), ("a", 0.95, 2), ("c", 0.7, None), ("d", -0.1, None)]),
        ([0.0], [("a", 0.0, 1), ("b", 0.0, None), ("c", 0.0, None), ("d", -0.1, None)]),
    ],
    ids=["nothing read", "all turned round", "ties", "capped", "nothing to cap", "no relevance at all"],
)
def test_the_order(relevances: list[float], expected: list[tuple[str, float, int | None]]) -> None:
    assert [(one.hit.id, one.score, one.place) for one in reranked([A, B, C, D], relevances)] == expected


def test_nothing_comes_of_nothing() -> None:
    assert reranked([], []) == []


ROWS = st.lists(
    st.builds(Row, st.sampled_from(Source), st.text("abc", min_size=1, max_size=3), st.floats(-1, 1)),
    unique_by=lambda row: (row.source, row.id),
)
RELEVANCES = st.lists(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), max_size=12)


@given(ROWS, RELEVANCES)
def test_every_result_is_there_once_and_scores_never_rise(rows: list[Row], relevances: list[float]) -> None:
    hits = merge_ranked([rows], limit=len(rows))
    depth = min(len(hits), len(relevances))
    ordered = reranked(hits, relevances[:depth])
    assert sorted(hits, key=id) == sorted((one.hit for one in ordered), key=id)
    assert all(before.score >= after.score for before, after in pairwise(ordered))
    assert [one.place for one in ordered] == [*range(1, depth + 1), *[None] * (len(hits) - depth)]
    assert {one.hit.id for one in ordered[:depth]} == {hit.id for hit in hits[:depth]}
    assert [one.hit for one in ordered[depth:]] == hits[depth:]


@given(ROWS, RELEVANCES, st.randoms())
def test_the_order_depends_on_nothing_but_scores_and_names(
    rows: list[Row], relevances: list[float], random: Random
) -> None:
    pairs = list(zip(rows, relevances, strict=False))
    shuffled = random.sample(pairs, len(pairs))
    assert reranked(*_unzipped(pairs)) == reranked(*_unzipped(shuffled))


def _unzipped(pairs: list[tuple[Row, float]]) -> tuple[list[Row], list[float]]:
    return [row for row, _ in pairs], [relevance for _, relevance in pairs]
