"""The order of results after a model has read the best of them together with the question."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from soat.engine.rank import Hit

H = TypeVar("H", bound=Hit)


@dataclass(frozen=True, slots=True)
class Reranked(Generic[H]):
    """A hit with its final score; ``place`` (from 1) is None for one that the model has not read."""

    hit: H
    score: float
    place: int | None


def reranked(hits: Sequence[H], relevances: Sequence[float]) -> list[Reranked[H]]:
    """Order the first hits by their relevance, ties by source and id; the others follow as they stood.

    ``relevances`` are those of the first hits, in their order, none of them NaN. The scores never rise from one
    result to the next: what was not read is on another scale, so it gets at most the lowest relevance.
    """
    read = sorted(zip(hits, relevances, strict=False), key=lambda pair: _key(*pair))
    ordered = [Reranked(hit, relevance, place) for place, (hit, relevance) in enumerate(read, start=1)]
    lowest = ordered[-1].score if ordered else math.inf
    return [*ordered, *(Reranked(hit, min(hit.score, lowest), None) for hit in hits[len(relevances) :])]


def _key(hit: Hit, relevance: float) -> tuple[float, str, str]:
    return -relevance, hit.source.value, hit.id
