"""How good a ranking is, against what should have been found.

A ranking is a list of results, each the set of wanted things that it covers: none, one, or several where a
result holds more than one of them. Only what is wanted stands in these sets, so an empty set is a miss.
"""

import bisect
import math
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet

Covered = AbstractSet[Hashable]
Span = tuple[int, int]
"""A half-open range of characters."""


def recall_at(ranking: Sequence[Covered], wanted: Covered, k: int) -> float:
    """Return the share of ``wanted`` that the first ``k`` results cover. ``wanted`` must not be empty."""
    return len(_covered(ranking, k) & wanted) / len(wanted)


def recall_all_at(ranking: Sequence[Covered], wanted: Covered, k: int) -> float:
    """Return 1 if the first ``k`` results cover all of ``wanted``, else 0."""
    return float(_covered(ranking, k) >= wanted)


def reciprocal_rank_at(ranking: Sequence[Covered], k: int) -> float:
    """Return 1 over the rank of the first result that covers anything, 0 if that is below ``k``."""
    return next((1 / rank for rank, covered in enumerate(ranking[:k], 1) if covered), 0.0)


def ndcg_at(ranking: Sequence[Covered], parts: int, k: int) -> float:
    """Return the normalised discounted cumulative gain with gains of 0 and 1 (Järvelin and Kekäläinen 2002).

    A result gains if it covers something that none before it did, so a repetition is worth nothing.
    ``parts`` is how many results a perfect ranking would need.
    """
    seen: set[Hashable] = set()
    gained = 0.0
    for rank, covered in enumerate(ranking[:k], 1):
        if covered - seen:
            gained += _discount(rank)
        seen |= covered
    ideal = sum(_discount(rank) for rank in range(1, min(parts, k) + 1))
    return min(gained / ideal, 1.0)


def fresh_before_stale(ranking: Sequence[Covered], stale: Sequence[bool]) -> float:
    """Return 1 if a result that covers anything stands before every stale one, else 0.

    ``stale`` says of each result whether it is outdated. A ranking without any answer is 0.
    """
    for covered, outdated in zip(ranking, stale, strict=True):
        if covered:
            return 1.0
        if outdated:
            return 0.0
    return 0.0


def area_under_roc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the probability that a positive's score is above a negative's, ties counting half (Mann and Whitney).

    0.5 says that the score tells nothing. Neither may be empty.
    """
    ordered = sorted(negative)
    won = sum(bisect.bisect_left(ordered, score) + bisect.bisect_right(ordered, score) for score in positive)
    return won / 2 / (len(positive) * len(negative))


def character_precision(found: Sequence[Span], wanted: Sequence[Span]) -> float:
    """Return the share of the characters in ``found`` that are wanted, each counted once; 0 if none is found."""
    return _overlap(found, wanted) / total if (total := _length(found)) else 0.0


def character_iou(found: Sequence[Span], wanted: Sequence[Span]) -> float:
    """Return the characters in both over the characters in either (intersection over union)."""
    both = _overlap(found, wanted)
    either = _length(found) + _length(wanted) - both
    return both / either if either else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


def _covered(ranking: Sequence[Covered], k: int) -> set[Hashable]:
    return set().union(*ranking[:k])


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in _joined(spans))


def _overlap(left: Sequence[Span], right: Sequence[Span]) -> int:
    return sum(
        max(0, min(a_end, b_end) - max(a_start, b_start))
        for a_start, a_end in _joined(left)
        for b_start, b_end in _joined(right)
    )
