"""Vectors that count and vectors that do not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.engine.vectors import (
    VectorFault,
    VectorRefused,
    clamp_score,
    cosine_similarity,
    normalise,
    similarity_from_distance,
    validate_vector,
)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0], VectorFault.WRONG_LENGTH),
        ([1.0, 2.0, 3.0], VectorFault.WRONG_LENGTH),
        ([], VectorFault.WRONG_LENGTH),
        ([0.0, -0.0], VectorFault.ZERO),
        ([1e-45, 0.0], VectorFault.ZERO),
        ([math.nan, 1.0], VectorFault.NAN),
        ([math.inf, 1.0], VectorFault.INFINITE),
        ([1.0, -math.inf], VectorFault.INFINITE),
        ([1e39, 1.0], VectorFault.INFINITE),
        ([math.inf, math.nan], VectorFault.NAN),
    ],
)
def test_unusable_vectors_are_refused(values: list[float], reason: VectorFault) -> None:
    with pytest.raises(VectorRefused) as refusal:
        validate_vector(values, 2)
    assert refusal.value.reason is reason


def test_a_usable_vector_passes() -> None:
    validate_vector([0.0, 1e-3], 2)


@pytest.mark.parametrize(
    ("left", "right", "similarity"),
    [
        ([1.0, 0.0], [2.0, 0.0], 1.0),
        ([1.0, 0.0], [0.0, 5.0], 0.0),
        ([1.0, 0.0], [-3.0, 0.0], -1.0),
        ([1e30, 1e30], [1e-30, 1e-30], 1.0),
    ],
)
def test_cosine_similarity(left: list[float], right: list[float], similarity: float) -> None:
    assert cosine_similarity(left, right) == pytest.approx(similarity)


def test_cosine_of_a_zero_vector_is_refused() -> None:
    with pytest.raises(VectorRefused):
        cosine_similarity([0.0, 0.0], [1.0, 0.0])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8).filter(lambda values: max(map(abs, values)) > 1e-6))
def test_normalised_length_is_one(values: list[float]) -> None:
    assert math.hypot(*normalise(values)) == pytest.approx(1.0)


@pytest.mark.parametrize(("distance", "similarity"), [(0.0, 1.0), (0.05, 0.95), (1.0, 0.0), (2.0, -1.0)])
def test_a_distance_is_not_a_similarity(distance: float, similarity: float) -> None:
    assert similarity_from_distance(distance) == pytest.approx(similarity)


@pytest.mark.parametrize(("score", "shown"), [(-1e-9, 0.0), (1.0000001, 1.0), (0.5, 0.5), (math.nan, 0.0)])
def test_scores_are_clamped_for_output(score: float, shown: float) -> None:
    assert clamp_score(score) == shown
