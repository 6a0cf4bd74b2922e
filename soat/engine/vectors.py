"""Vectors: which are usable, and the one way from a distance to a similarity."""

import math
from collections.abc import Sequence
from enum import StrEnum

# pgvector keeps components as IEEE 754 single precision: what is beyond its range is infinite there,
# what is below its smallest normal number is zero.
FLOAT32_MAX = 3.4028234663852886e38
FLOAT32_TINY = 1.1754943508222875e-38


class VectorFault(StrEnum):
    """Why a vector is refused."""

    WRONG_LENGTH = "wrong_length"
    ZERO = "zero"
    NAN = "nan"
    INFINITE = "infinite"


class VectorRefused(ValueError):
    """A vector that counts as a failed embedding; ``reason`` says why."""

    def __init__(self, reason: VectorFault, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def validate_vector(values: Sequence[float], dimensions: int) -> None:
    """Check that the vector can be stored and compared.

    Raises ``VectorRefused`` when its length is not ``dimensions``, when a component is NaN or
    infinite (in single precision), or when all of them are zero.
    """
    if len(values) != dimensions:
        raise VectorRefused(VectorFault.WRONG_LENGTH, f"expected {dimensions} dimensions, got {len(values)}")
    _validate_components(values)


def _validate_components(values: Sequence[float]) -> None:
    if any(math.isnan(value) for value in values):
        raise VectorRefused(VectorFault.NAN, "the vector holds NaN")
    largest = max((abs(value) for value in values), default=0.0)
    if largest > FLOAT32_MAX:
        raise VectorRefused(VectorFault.INFINITE, "the vector holds an infinite component")
    if largest < FLOAT32_TINY:
        raise VectorRefused(VectorFault.ZERO, "the vector is all zeros")


def normalise(values: Sequence[float]) -> tuple[float, ...]:
    """Return the vector scaled to length 1.

    Raises ``VectorRefused`` for a vector that has no direction (zeros, NaN, infinite).
    """
    _validate_components(values)
    norm = math.hypot(*values)
    return tuple(float(value) / norm for value in values)


def cosine_similarity(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors, -1..1 up to rounding.

    Raises ``VectorRefused`` when the lengths differ or one of them has no direction.
    """
    if len(left) != len(right):
        raise VectorRefused(VectorFault.WRONG_LENGTH, f"cannot compare {len(left)} with {len(right)} dimensions")
    return math.fsum(a * b for a, b in zip(normalise(left), normalise(right), strict=True))


def similarity_from_distance(distance: float) -> float:
    """Return the similarity for a cosine distance (pgvector's ``<=>``, 0..2): the only place that does."""
    return 1.0 - distance


def clamp_score(score: float) -> float:
    """Return the score within 0..1, for output only: decisions use the raw value.

    NaN, which no stored vector can cause, becomes 0: it must never look like a match.
    """
    if math.isnan(score):
        return 0.0
    return min(max(score, 0.0), 1.0)
