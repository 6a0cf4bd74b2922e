"""Runs as tables for people: Markdown, so that they can go into a page as they are."""

from collections.abc import Iterator, Sequence

from soat.evaluation.runs import Run, SetRun
from soat.evaluation.statistics import Estimate
from soat.evaluation.summary import ALL_KINDS, Compared, abstention, by_kind, estimates, latency

COLUMNS = ("recall@1", "recall@5", "recall@10", "recall@20", "recall_all@10", "mrr@10", "ndcg@10")
_FEW = 0.05
"""A p-value below this is marked."""


def tables(run: Run) -> str:
    """Return the tables of a run: rankings, what only some sets have, times."""
    head = f"Space {run.space}, ranking {run.ranking}; {run.date}; {run.machine}."
    extra = list(_extra_rows(run))
    parts = [head, _table(["set", "kind", "n", *COLUMNS], list(_ranking_rows(run)))]
    if extra:
        parts.append(_table(["set", "kind", "metric", "n", "value"], extra))
    parts.append(_table(["set", "half", "chunks", "stored", "store s", "p50 ms", "p95 ms"], list(_time_rows(run))))
    return "\n\n".join(parts)


def comparison(first: Run, second: Run, rows: Sequence[Compared]) -> str:
    """Return the table of two runs; an asterisk marks what is unlikely to be chance."""
    cells = [
        [
            row.name,
            row.metric,
            str(row.difference.count),
            f"{row.first:.3f}",
            f"{row.second:.3f}",
            f"{row.difference.mean:+.3f} [{row.difference.low:+.3f}, {row.difference.high:+.3f}]",
            f"{row.difference.p:.4f}{' *' if row.difference.p < _FEW else ''}",
        ]
        for row in rows
    ]
    head = f"{_conditions(first)} against {_conditions(second)}, space {second.space}."
    return f"{head}\n\n{_table(['set', 'metric', 'n', 'first', 'second', 'difference', 'p'], cells)}"


def _conditions(run: Run) -> str:
    """Return what two runs may differ in: ``cosine, chunks size/500 (2026-12-01)``."""
    chunks = "; ".join(dict.fromkeys(one.chunking for one in run.sets))
    return f"{run.ranking}, chunks {chunks} ({run.date})"


def _ranking_rows(run: Run) -> Iterator[list[str]]:
    for one in run.sets:
        for kind, questions in by_kind(one).items():
            found = estimates(questions)
            yield [one.name, kind, str(len(questions)), *(_shown(found[name]) for name in COLUMNS)]


def _extra_rows(run: Run) -> Iterator[list[str]]:
    """Yield abstention, and the metrics that not every set has."""
    for one in run.sets:
        for kind, questions in by_kind(one).items():
            for name, value in estimates(questions).items():
                if not name.startswith(("recall", "mrr", "ndcg")):
                    yield [one.name, kind, name, str(value.count), _shown(value)]
        if (area := abstention(one)) is not None:
            yield [one.name, ALL_KINDS, "abstention AUROC", str(area.count), _shown(area)]


def _time_rows(run: Run) -> Iterator[list[str]]:
    for one in run.sets:
        times = latency(one)
        yield [*_labels(one), f"{one.seconds_to_store:.1f}", f"{times.p50:.1f}", f"{times.p95:.1f}"]


def _labels(one: SetRun) -> list[str]:
    return [one.name, one.half, one.chunking, str(one.stored)]


def _shown(value: Estimate) -> str:
    """Return the mean with the wider half of its interval: ``.812 ±.023``."""
    half = max(value.high - value.mean, value.mean - value.low)
    return f"{_short(value.mean)} ±{_short(half)}"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") or "0"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))} |"

    return "\n".join([line(heads), line(["-" * width for width in widths]), *map(line, rows)])
