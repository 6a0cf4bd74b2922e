"""The one check that all providers' vectors go through."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from embeddings.port import EmbeddingRejected, Reason
from embeddings.providers.answers import checked_vectors, in_index_order, retry_after_seconds

GOOD = [3.0, 4.0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([1.0, 2.0, 3.0], Reason.WRONG_DIMENSIONS),
        ([1.0], Reason.WRONG_DIMENSIONS),
        ([], Reason.WRONG_DIMENSIONS),
        ([[1.0, 2.0]], Reason.WRONG_DIMENSIONS),
        ([0.0, -0.0], Reason.ZERO_VECTOR),
        ([1.0, float("nan")], Reason.NOT_FINITE),
        ([1.0, float("-inf")], Reason.NOT_FINITE),
        ([1.0, None], Reason.NOT_FINITE),
        ([1.0, "no number"], Reason.MALFORMED_ANSWER),
        ([1.0, [2.0]], Reason.MALFORMED_ANSWER),
    ],
)
def test_a_bad_row_is_named_and_its_neighbours_kept(row: Any, reason: Reason) -> None:
    before, bad, after = checked_vectors([GOOD, row, GOOD], count=3, dimensions=2)
    assert isinstance(bad, EmbeddingRejected)
    assert bad.reason is reason
    for vector in (before, after):
        assert not isinstance(vector, EmbeddingRejected)
        assert vector.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("row", [[1e-300, 1e-300], [1e300, 1e300], np.asarray([2.0, 2.0], dtype=np.float32)])
def test_any_length_becomes_one_without_overflow(row: Sequence[float]) -> None:
    [vector] = checked_vectors([row], count=1, dimensions=2)
    assert not isinstance(vector, EmbeddingRejected)
    assert vector.dtype == np.float32
    assert vector.tolist() == pytest.approx([0.5**0.5, 0.5**0.5])


@pytest.mark.parametrize("rows", [[], [GOOD], [GOOD] * 3])
def test_another_number_of_rows_is_given_to_nobody(rows: list[list[float]]) -> None:
    with pytest.raises(EmbeddingRejected) as caught:
        checked_vectors(rows, count=2, dimensions=2)
    assert caught.value.reason is Reason.WRONG_COUNT


def test_rows_with_an_index_are_put_in_order() -> None:
    assert in_index_order([(2, "c"), (0, "a"), (1, "b")], count=3) == ["a", "b", "c"]


@pytest.mark.parametrize("indexes", [[0, 1], [0, 1, 1], [1, 2, 3], [0, 1, 2, 3]])
def test_indexes_that_do_not_fit_the_texts_are_refused(indexes: list[int]) -> None:
    with pytest.raises(EmbeddingRejected):
        in_index_order([(index, "row") for index in indexes], count=3)


@pytest.mark.parametrize(
    ("header", "seconds"), [(None, None), ("", None), ("soon", None), ("-3", None), (" 12 ", 12.0)]
)
def test_retry_after_in_seconds(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header) == seconds


def test_retry_after_as_a_date() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=30)
    assert retry_after_seconds(format_datetime(moment, usegmt=True)) == pytest.approx(30, abs=2)
    assert retry_after_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
