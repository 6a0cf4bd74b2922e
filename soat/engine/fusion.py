"""Fusion of the two legs of a hybrid search, cosine and words, into one score between 0 and 1."""

import math
from dataclasses import dataclass
from enum import StrEnum

# BM25 over words. Facts and chunks are short and much of a length: that a word stands there says nearly all, how
# often (k1, usually 1.2) and in how long a text (b, usually .75) little. On the tuning halves of LoCoMo, XQuAD,
# HotpotQA and MuSiQue recall moves by about .01 for k1 in .05-.3 and b in 0-.4.
WORD_SATURATION = 0.1
LENGTH_NORMALISATION = 0.1
# What each leg hands on at least. Beyond its hundredth row neither leg added an answer to the first ten.
LEG_DEPTH = 100
# Cormack, Clarke and Buettcher 2009.
RECIPROCAL_RANK_CONSTANT = 60


class Ranking(StrEnum):
    """By what results are ordered."""

    COSINE = "cosine"
    HYBRID = "hybrid"


class Fusion(StrEnum):
    """How two legs become one score."""

    WEIGHTED = "weighted"
    RECIPROCAL_RANK = "reciprocal_rank"


@dataclass(frozen=True, slots=True)
class Legs:
    """What the legs say of a row. A rank (from 1) is None where the leg did not find the row.

    ``cosine`` is None for a row without a vector; ``words`` is the share of the question's words that the
    row has, each word weighted by how few rows have it: 0..1.
    """

    cosine: float | None
    words: float
    cosine_rank: int | None
    words_rank: int | None

    @property
    def found_cosine(self) -> float | None:
        """Return the cosine of a row that was found by it; None for one that only its words brought in."""
        return self.cosine if self.cosine_rank is not None else None


@dataclass(frozen=True, slots=True)
class FusionRule:
    """How legs are weighed. ``cosine_floor`` is what the model gives to texts that have nothing in common."""

    method: Fusion = Fusion.WEIGHTED
    words_weight: float = 0.45
    cosine_floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Recency:
    """How much age takes away: a fact of ``half_life_days`` loses half of ``weight`` of its score."""

    half_life_days: float
    weight: float


def fused_score(legs: Legs, rule: FusionRule) -> float:
    """Return the score of a row, 0..1, comparable between the sources of one search."""
    if rule.method is Fusion.RECIPROCAL_RANK:
        return _reciprocal_ranks(legs)
    above = max(0.0, ((legs.cosine or 0.0) - rule.cosine_floor) / (1.0 - rule.cosine_floor))
    return (1.0 - rule.words_weight) * min(above, 1.0) + rule.words_weight * min(legs.words, 1.0)


def _reciprocal_ranks(legs: Legs) -> float:
    """Return the sum of 1 / (k + rank) over the legs, as a share of what the first of both has."""
    best = 2.0 / (RECIPROCAL_RANK_CONSTANT + 1)
    ranks = [rank for rank in (legs.cosine_rank, legs.words_rank) if rank is not None]
    return sum(1.0 / (RECIPROCAL_RANK_CONSTANT + rank) for rank in ranks) / best


def aged(score: float, age_days: float, recency: Recency) -> float:
    """Return the score of a fact that is so old at the time of the question; one of the future counts as new."""
    left = math.exp2(-max(age_days, 0.0) / recency.half_life_days)
    return score * (1.0 - recency.weight * (1.0 - left))
