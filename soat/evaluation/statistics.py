"""How sure a mean is, and a difference of two. Seeded: equal input gives equal numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SEED = 20_261_201
RESAMPLES = 2_000
ROUNDS = 10_000
_CELLS = 2_000_000
"""Numbers in memory at a time."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval over ``count`` questions."""

    mean: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of the second minus that of the first, with its 95 % interval and a two-sided p-value."""

    mean: float
    low: float
    high: float
    p: float
    count: int


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and its interval by the percentile bootstrap over questions."""
    array = np.asarray(values, dtype=np.float64)
    low, high = _interval(_resampled_means(array))
    return Estimate(float(array.mean()), low, high, len(array))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Compare two runs over the same questions, in the same order.

    The interval is a paired bootstrap; p comes from a paired randomisation test: how often the mean
    difference is as large when each question's two results are swapped by a coin (Fisher; Smucker et al. 2007).
    """
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    low, high = _interval(_resampled_means(differences))
    return Difference(float(differences.mean()), low, high, _sign_flip_p(differences), len(differences))


def area_interval(positive: Sequence[float], negative: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the area under the ROC curve, both groups drawn anew for each resample."""
    rng = np.random.default_rng(SEED)
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None, :]
    won = (above > 0) + (above == 0) / 2
    areas = []
    for _ in range(RESAMPLES // 4):
        rows = rng.integers(0, len(positive), len(positive))
        columns = rng.integers(0, len(negative), len(negative))
        row_weights = np.bincount(rows, minlength=len(positive))
        column_weights = np.bincount(columns, minlength=len(negative))
        areas.append(row_weights @ won @ column_weights / won.size)
    return _interval(np.asarray(areas))


def _resampled_means(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(SEED)
    step = max(1, _CELLS // len(values))
    means = [
        values[rng.integers(0, len(values), (min(step, RESAMPLES - start), len(values)))].mean(axis=1)
        for start in range(0, RESAMPLES, step)
    ]
    return np.concatenate(means)


def _interval(means: npt.NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _sign_flip_p(differences: npt.NDArray[np.float64]) -> float:
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    rng = np.random.default_rng(SEED)
    observed = abs(moved.sum()) - 1e-9
    step = max(1, _CELLS // len(moved))
    hits = 0
    for start in range(0, ROUNDS, step):
        signs = rng.integers(0, 2, (min(step, ROUNDS - start), len(moved))) * 2 - 1
        hits += int((abs(signs @ moved) >= observed).sum())
    return (hits + 1) / (ROUNDS + 1)
