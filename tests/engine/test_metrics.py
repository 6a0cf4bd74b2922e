"""Metrics of rankings, with values worked out by hand."""

import math

import pytest

from soat.engine.metrics import (
    area_under_roc,
    character_iou,
    character_precision,
    fresh_before_stale,
    ndcg_at,
    percentile,
    recall_all_at,
    recall_at,
    reciprocal_rank_at,
)

A, B = frozenset("a"), frozenset("b")
AB = A | B
NONE: frozenset[str] = frozenset()
SECOND = 1 / math.log2(3)


@pytest.mark.parametrize(
    ("ranking", "wanted", "k", "recall", "everything"),
    [
        ([A], A, 1, 1.0, 1.0),
        ([NONE, A], A, 1, 0.0, 0.0),
        ([NONE, A], A, 2, 1.0, 1.0),
        ([A, B], AB, 1, 0.5, 0.0),
        ([A, A, B], AB, 2, 0.5, 0.0),
        ([A, A, B], AB, 3, 1.0, 1.0),
        ([AB], AB, 1, 1.0, 1.0),
        ([], A, 10, 0.0, 0.0),
        ([A], AB, 10, 0.5, 0.0),
        ([frozenset("x"), A], A, 1, 0.0, 0.0),
    ],
)
def test_recall(
    ranking: list[frozenset[str]], wanted: frozenset[str], k: int, recall: float, everything: float
) -> None:
    assert recall_at(ranking, wanted, k) == recall
    assert recall_all_at(ranking, wanted, k) == everything


@pytest.mark.parametrize(
    ("ranking", "k", "expected"),
    [
        ([A], 10, 1.0),
        ([NONE, NONE, A, A], 10, 1 / 3),
        ([NONE, NONE, A], 2, 0.0),
        ([], 10, 0.0),
    ],
)
def test_reciprocal_rank(ranking: list[frozenset[str]], k: int, expected: float) -> None:
    assert reciprocal_rank_at(ranking, k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ranking", "parts", "k", "expected"),
    [
        ([A], 1, 10, 1.0),
        ([NONE, A], 1, 10, SECOND),
        ([A, B], 2, 10, 1.0),
        ([A, NONE, B], 2, 10, (1 + 0.5) / (1 + SECOND)),
        ([A, A, B], 2, 10, (1 + 0.5) / (1 + SECOND)),  # a repetition is worth nothing
        ([NONE, AB], 2, 10, SECOND / (1 + SECOND)),
        ([A, B], 3, 2, 1.0),  # no more than k can be had
        ([NONE, NONE], 1, 10, 0.0),
        ([A, B], 1, 10, 1.0),  # two pieces of one answer are no more than a perfect ranking
    ],
)
def test_ndcg(ranking: list[frozenset[str]], parts: int, k: int, expected: float) -> None:
    assert ndcg_at(ranking, parts, k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ranking", "stale", "expected"),
    [
        ([A, NONE], [False, True], 1.0),
        ([NONE, A], [True, False], 0.0),
        ([NONE, A], [False, False], 1.0),
        ([NONE, NONE], [False, True], 0.0),
        ([], [], 0.0),
    ],
)
def test_fresh_before_stale(ranking: list[frozenset[str]], stale: list[bool], expected: float) -> None:
    assert fresh_before_stale(ranking, stale) == expected


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        ([0.9, 0.8], [0.1, 0.2], 1.0),
        ([0.1], [0.9], 0.0),
        ([0.5], [0.5], 0.5),
        ([0.9, 0.3], [0.5], 0.5),
        ([0.9, 0.5], [0.5, 0.1], 0.875),  # three wins and a tie, of four
    ],
)
def test_area_under_roc(positive: list[float], negative: list[float], expected: float) -> None:
    assert area_under_roc(positive, negative) == expected


@pytest.mark.parametrize(
    ("found", "wanted", "precision", "iou"),
    [
        ([(0, 10)], [(0, 10)], 1.0, 1.0),
        ([(0, 10)], [(5, 10)], 0.5, 0.5),
        ([(0, 10)], [(5, 15)], 0.5, 5 / 15),
        ([(0, 10), (5, 15)], [(0, 15)], 1.0, 1.0),  # an overlap counts once
        ([(0, 10), (20, 30)], [(8, 22)], 0.2, 4 / 30),
        ([(0, 10)], [(10, 20)], 0.0, 0.0),
        ([], [(0, 4)], 0.0, 0.0),
        ([], [], 0.0, 0.0),
    ],
)
def test_characters(found: list[tuple[int, int]], wanted: list[tuple[int, int]], precision: float, iou: float) -> None:
    assert character_precision(found, wanted) == pytest.approx(precision)
    assert character_iou(found, wanted) == pytest.approx(iou)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([5.0], 0.5, 5.0), ([3.0, 1.0, 2.0], 0.5, 2.0), ([1.0, 2.0, 3.0, 4.0], 0.5, 2.0), ([1.0, 2.0, 3.0], 0.95, 3.0)],
)
def test_percentile(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == expected


def test_percentile_of_twenty() -> None:
    assert percentile([float(number) for number in range(1, 21)], 0.95) == 19.0
