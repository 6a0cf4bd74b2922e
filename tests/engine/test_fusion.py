"""Two legs, one score."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.engine.fusion import Fusion, FusionRule, Legs, Recency, aged, fused_score

SHARES = st.floats(0, 1, allow_nan=False)
COSINES = st.one_of(st.none(), st.floats(-1, 1, allow_nan=False))
FLOORS = st.floats(0, 0.95)
RANKS = st.one_of(st.none(), st.integers(1, 1_000))


@pytest.mark.parametrize(
    ("legs", "rule", "score"),
    [
        (Legs(0.8, 0.4, 1, 3), FusionRule(words_weight=0.5), 0.6),
        (Legs(0.8, 0.4, 1, 3), FusionRule(words_weight=0.25), 0.7),
        (Legs(0.8, 0.4, 1, 3), FusionRule(words_weight=0), 0.8),
        (Legs(0.8, 0.4, 1, 3), FusionRule(words_weight=1), 0.4),
        (Legs(None, 0.4, None, 1), FusionRule(words_weight=0.5), 0.2),
        (Legs(-0.5, 0.4, 90, 1), FusionRule(words_weight=0.5), 0.2),
        (Legs(0.9, 0.0, 1, None), FusionRule(words_weight=0.5, cosine_floor=0.8), 0.25),
        (Legs(0.7, 0.0, 1, None), FusionRule(cosine_floor=0.8), 0.0),
        (Legs(1.0000001, 1.0000001, 1, 1), FusionRule(), 1.0),
        (Legs(0.1, 0.1, 1, 1), FusionRule(Fusion.RECIPROCAL_RANK), 1.0),
        (Legs(0.1, 0.1, 1, None), FusionRule(Fusion.RECIPROCAL_RANK), 0.5),
        (Legs(0.9, 0.9, None, 62), FusionRule(Fusion.RECIPROCAL_RANK), 0.25),
        (Legs(0.9, 0.9, None, None), FusionRule(Fusion.RECIPROCAL_RANK), 0.0),
    ],
)
def test_a_score_is_what_the_rule_says(legs: Legs, rule: FusionRule, score: float) -> None:
    assert fused_score(legs, rule) == pytest.approx(score, abs=1e-3 if rule.method is not Fusion.WEIGHTED else 1e-6)


@given(st.builds(Legs, COSINES, SHARES, RANKS, RANKS), st.builds(FusionRule, st.sampled_from(Fusion), SHARES, FLOORS))
def test_a_score_is_between_0_and_1(legs: Legs, rule: FusionRule) -> None:
    assert 0 <= fused_score(legs, rule) <= 1 + 1e-9


@given(st.lists(st.tuples(st.floats(-1, 1), SHARES), min_size=2, max_size=5), SHARES)
def test_a_row_that_is_better_in_both_legs_is_never_behind(rows: list[tuple[float, float]], weight: float) -> None:
    rule = FusionRule(words_weight=weight)
    for (cosine, words), (other_cosine, other_words) in itertools.permutations(rows, 2):
        if cosine >= other_cosine and words >= other_words:
            better = fused_score(Legs(cosine, words, 1, 1), rule)
            assert better >= fused_score(Legs(other_cosine, other_words, 2, 2), rule)


def test_age_takes_away_a_part_of_the_score() -> None:
    recency = Recency(half_life_days=10, weight=0.2)
    assert [round(aged(0.5, days, recency), 6) for days in (-5, 0, 10, 20)] == [0.5, 0.5, 0.45, 0.425]
    assert math.isclose(aged(0.5, 1e9, recency), 0.4)
