"""Timing several things side by side, and showing them."""

import statistics
import time
from collections.abc import Callable, Mapping


def interleaved(acts: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 20) -> dict[str, list[float]]:
    """Return the seconds that each act took in each round, taken in turn so that a slow moment hits all alike."""
    for act in acts.values():
        for _ in range(warm_up):
            act()
    seconds: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(rounds):
        for name, act in acts.items():
            begun = time.perf_counter()
            act()
            seconds[name].append(time.perf_counter() - begun)
    return seconds


def print_table(seconds: Mapping[str, list[float]], *, beside: str) -> None:
    """Print median and 95th percentile in milliseconds, and the median as a ratio to that of ``beside``."""
    base = statistics.median(seconds[beside])
    print(f"{'':46} {'p50 ms':>8} {'p95 ms':>8} {'ratio':>6}")
    for name, values in seconds.items():
        p50, p95 = statistics.median(values), statistics.quantiles(values, n=20)[-1]
        print(f"{name:46} {p50 * 1_000:8.2f} {p95 * 1_000:8.2f} {p50 / base:6.2f}")
