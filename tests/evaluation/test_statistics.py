"""Intervals and tests: seeded, and right where the answer is known."""

import random

import pytest

from soat.evaluation.statistics import area_interval, estimate, paired_difference


def drawn(seed: int, count: int) -> list[float]:
    generator = random.Random(seed)
    return [generator.random() for _ in range(count)]


def test_equal_input_gives_equal_numbers() -> None:
    values = drawn(1, 50)
    assert estimate(values) == estimate(values)
    assert paired_difference(values, values[::-1]) == paired_difference(values, values[::-1])


def test_an_interval_holds_the_mean_and_is_as_wide_as_theory_says() -> None:
    found = estimate([1.0] * 80 + [0.0] * 20)
    assert found.mean == pytest.approx(0.8)
    assert found.count == 100
    assert found.low == pytest.approx(0.8 - 1.96 * 0.04, abs=0.01)
    assert found.high == pytest.approx(0.8 + 1.96 * 0.04, abs=0.01)


def test_what_never_varies_has_no_width() -> None:
    found = estimate([1.0] * 10)
    assert (found.low, found.mean, found.high) == (1.0, 1.0, 1.0)


def test_two_equal_runs_differ_by_nothing() -> None:
    values = [0.0, 1.0, 0.5]
    found = paired_difference(values, values)
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_five_wins_and_no_loss_are_the_sign_test() -> None:
    found = paired_difference([0.0] * 20, [1.0] * 5 + [0.0] * 15)
    assert found.mean == 0.25
    assert found.p == pytest.approx(2 / 2**5, abs=0.01)


def test_as_many_wins_as_losses_are_chance() -> None:
    found = paired_difference([1.0] * 10 + [0.0] * 10, [0.0] * 10 + [1.0] * 10)
    assert found.mean == 0.0
    assert found.p > 0.9
    assert found.low < 0 < found.high


def test_many_small_wins_are_no_chance() -> None:
    found = paired_difference([0.5] * 100, [0.51] * 100)
    assert found.p < 0.001
    assert found.low == pytest.approx(0.01)


def test_the_interval_of_an_area_that_is_perfect_has_no_width() -> None:
    assert area_interval([0.9, 0.8, 0.7], [0.1, 0.2]) == (1.0, 1.0)


def test_the_interval_of_an_area_holds_chance_when_the_scores_tell_nothing() -> None:
    values = drawn(2, 40)
    low, high = area_interval(values[:20], values[20:])
    assert low < 0.5 < high
