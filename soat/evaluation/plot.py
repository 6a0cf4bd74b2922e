"""A bar chart with intervals, as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from soat.evaluation.runs import Run
from soat.evaluation.statistics import Estimate
from soat.evaluation.summary import ALL_KINDS, by_kind, estimates

METRIC = "recall@10"

_LEFT, _RIGHT, _TOP, _BOTTOM = 150, 60, 50, 30
_WIDTH = 560
_BAR, _GAP = 16, 12
_FONT = 'font-family="sans-serif" font-size="12"'
_COLOURS = ("#2f6f9f", "#d9822b")


@dataclass(frozen=True, slots=True)
class Bar:
    """One run's value in a row of the chart."""

    run: int
    value: Estimate


def plot(runs: Sequence[Run]) -> str:
    """Return a chart of recall@10, one row a set and one bar a run (two at most)."""
    rows = _rows(runs)
    row_height = _BAR * len(runs) + _GAP
    height = _TOP + row_height * len(rows) + _BOTTOM
    width = _LEFT + _WIDTH + _RIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_legend(runs),
        *_grid(height),
    ]
    for number, (name, bars) in enumerate(rows.items()):
        top = _TOP + number * row_height
        middle = top + _BAR * len(runs) / 2 + 4
        parts.append(f'<text x="{_LEFT - 8}" y="{middle:g}" text-anchor="end">{escape(name)}</text>')
        for bar in bars:
            parts.extend(_bar(bar, top + bar.run * _BAR))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _rows(runs: Sequence[Run]) -> dict[str, list[Bar]]:
    rows: dict[str, list[Bar]] = {}
    for number, run in enumerate(runs):
        for one in run.sets:
            if questions := by_kind(one).get(ALL_KINDS):
                rows.setdefault(one.name, []).append(Bar(number, estimates(questions)[METRIC]))
    return rows


def _legend(runs: Sequence[Run]) -> list[str]:
    parts = [f'<text x="{_LEFT}" y="18" font-weight="bold">{METRIC}, 95 % intervals</text>']
    for number, run in enumerate(runs):
        x = _LEFT + number * 220
        parts.append(f'<rect x="{x}" y="26" width="10" height="10" fill="{_COLOURS[number]}"/>')
        parts.append(f'<text x="{x + 15}" y="36">{escape(f"{run.ranking}, {run.date}")}</text>')
    return parts


def _grid(height: int) -> list[str]:
    parts = []
    for tick in range(6):
        x = _x(tick / 5)
        parts.append(f'<line x1="{x:g}" x2="{x:g}" y1="{_TOP - 6}" y2="{height - _BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:g}" y="{height - 10}" text-anchor="middle">{tick / 5:g}</text>')
    return parts


def _bar(bar: Bar, y: int) -> list[str]:
    value, middle = bar.value, y + (_BAR - 2) / 2
    end = _x(value.mean)
    return [
        f'<rect x="{_LEFT}" y="{y}" width="{end - _LEFT:.1f}" height="{_BAR - 2}" fill="{_COLOURS[bar.run]}"/>',
        f'<line x1="{_x(value.low):.1f}" x2="{_x(value.high):.1f}" y1="{middle:g}" y2="{middle:g}" stroke="#222"/>',
        f'<text x="{_x(value.high) + 5:.1f}" y="{middle + 4:g}">{value.mean:.3f}</text>',
    ]


def _x(share: float) -> float:
    return _LEFT + share * _WIDTH
