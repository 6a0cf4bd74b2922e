"""What every provider's answer goes through before anybody may store or compare it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from embeddings.port import Answer, EmbeddingRejected, Reason, Vector

Row = Sequence[float] | npt.NDArray[np.floating]
T = TypeVar("T")


def checked_vectors(rows: Sequence[Row], *, count: int, dimensions: int) -> list[Answer]:
    """Turn a provider's rows into unit vectors, one answer per text.

    A bad row costs only its own text. Vectors are brought to unit length, which leaves every cosine as it is and
    keeps all numbers within the half precision of the index. Raises `EmbeddingRejected` when there are not
    ``count`` rows, because no row can then be given to its text.
    """
    if len(rows) != count:
        raise EmbeddingRejected(
            Reason.WRONG_COUNT, f"The embedding provider answered {len(rows)} vectors to {count} texts."
        )
    return [_checked(row, dimensions) for row in rows]


def in_index_order(items: Iterable[tuple[int, T]], *, count: int) -> list[T]:
    """Return rows that name their text's index in the order of the texts.

    Raises `EmbeddingRejected` unless the indexes are exactly 0 to ``count - 1``.
    """
    ordered = sorted(items, key=lambda item: item[0])
    if [index for index, _ in ordered] != list(range(count)):
        raise EmbeddingRejected(
            Reason.WRONG_COUNT, f"The embedding provider's indexes do not match the {count} texts that were sent."
        )
    return [row for _, row in ordered]


def retry_after_seconds(header: str | None) -> float | None:
    """Read a ``Retry-After`` header, seconds or a date (RFC 9110 section 10.2.3); None if it is absent or odd."""
    if not header:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _checked(row: Row, dimensions: int) -> Answer:
    try:
        numbers = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return EmbeddingRejected(Reason.MALFORMED_ANSWER, "The embedding provider's vector is not a list of numbers.")
    if numbers.shape != (dimensions,):
        return EmbeddingRejected(
            Reason.WRONG_DIMENSIONS,
            f"The model's vector has {numbers.size} dimensions, EMBEDDING_DIMENSIONS says {dimensions}.",
        )
    if not np.isfinite(numbers).all():
        return EmbeddingRejected(Reason.NOT_FINITE, "The model's vector holds NaN or infinity.")
    largest = np.abs(numbers).max()
    if largest == 0:
        return EmbeddingRejected(Reason.ZERO_VECTOR, "The model's vector is all zeros.")
    numbers = numbers / largest  # so that squaring neither overflows nor vanishes
    vector: Vector = (numbers / np.linalg.norm(numbers)).astype(np.float32)
    return vector
