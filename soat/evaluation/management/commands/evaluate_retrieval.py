"""``manage.py evaluate_retrieval``: how well search finds what it should, as numbers that can be compared."""

import argparse
import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from soat.core.errors import SoatError
from soat.engine.chunk import ChunkRequest, ChunkStrategy
from soat.evaluation.baseline import baseline_of, save_baseline
from soat.evaluation.kept_vectors import vectors_kept_in
from soat.evaluation.material import EvaluationSet, Half, SetProblem, with_chunking
from soat.evaluation.plot import plot
from soat.evaluation.report import comparison, tables
from soat.evaluation.runs import RANKINGS, Run, load_run, new_run, run_set
from soat.evaluation.sets import NAMES, OURS, load_set
from soat.evaluation.sets.golden import baseline_file
from soat.evaluation.summary import compare

KEPT_VECTORS = Path("var/evaluation/vectors.sqlite3")


class Command(BaseCommand):
    """Store each set in a scratch project, ask its questions, print tables."""

    help = (
        "Measures search: stores sets of texts and facts in a scratch project, asks questions with known answers,"
        " and prints recall, MRR, nDCG and times. The project is deleted afterwards."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("sets", nargs="*", metavar="SET", help=f"Of: {', '.join(NAMES)}. Default: all to be had.")
        parser.add_argument("--ranking", choices=RANKINGS, default=RANKINGS[0])
        parser.add_argument("--half", choices=list(Half), default=Half.ALL, help="Ask one half of the questions only.")
        parser.add_argument("--chunk-strategy", choices=list(ChunkStrategy), help="Cut all texts in this way.")
        parser.add_argument("--chunk-size", type=int)
        parser.add_argument("--chunk-overlap", type=int)
        parser.add_argument("--json", type=Path, metavar="FILE", help="Write the run here.")
        parser.add_argument("--svg", type=Path, metavar="FILE", help="Draw recall@10 here.")
        parser.add_argument("--against", type=Path, metavar="FILE", help="Compare the run with an earlier one.")
        parser.add_argument(
            "--compare", type=Path, nargs=2, metavar="FILE", help="Compare two earlier runs, and run nothing."
        )
        parser.add_argument("--fresh", action="store_true", help="Embed all texts anew, and keep no vectors.")
        parser.add_argument(
            "--write-baseline", action="store_true", help="Write the golden set's committed numbers anew."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what was asked. What cannot be done is said in a sentence."""
        # A line for every text that is stored would bury the tables.
        logging.getLogger("documents").setLevel(logging.WARNING)
        try:
            if options["compare"]:
                first, second = (load_run(path) for path in options["compare"])
                self._show_comparison(first, second, options["svg"])
                return
            earlier = load_run(options["against"]) if options["against"] else None
            self._finish(self._run(options), earlier, options)
        except (SetProblem, SoatError, OSError) as problem:
            raise CommandError(str(problem)) from problem

    def _run(self, options: dict[str, Any]) -> Run:
        chunking = _chunking(options)
        # Read before anything is stored, so that a set that is not there ends the command at once.
        sets = [with_chunking(load_set(name, settings.EVALUATION_DATA), chunking) for name in _names(options["sets"])]
        run = new_run(options["ranking"])
        keeping = nullcontext() if options["fresh"] else vectors_kept_in(settings.BASE_DIR / KEPT_VECTORS)
        with keeping:
            for material in sets:
                one = run_set(
                    material,
                    half=Half(options["half"]),
                    chunking=_said(chunking),
                    ranking=run.ranking,
                    progress=self._progress(material),
                )
                run = replace(run, sets=(*run.sets, one))
        return run

    def _progress(self, material: EvaluationSet) -> Callable[[int, int], None]:
        def tell(done: int, total: int) -> None:
            if done == total or done % 500 == 0:
                self.stderr.write(f"{material.name}: {done} of {total} stored")

        return tell

    def _finish(self, run: Run, earlier: Run | None, options: dict[str, Any]) -> None:
        self.stdout.write(tables(run))
        if options["json"]:
            run.save(options["json"])
        if options["write_baseline"]:
            save_baseline(baseline_of(run, "golden"), baseline_file(run.ranking))
        if earlier is not None:
            self.stdout.write("")
            self._show_comparison(earlier, run, options["svg"])
        elif options["svg"]:
            _draw(options["svg"], run)

    def _show_comparison(self, first: Run, second: Run, svg: Path | None) -> None:
        self.stdout.write(comparison(first, second, compare(first, second)))
        if svg:
            _draw(svg, first, second)


def _draw(file: Path, *runs: Run) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(plot(runs))


def _names(given: list[str]) -> list[str]:
    if unknown := [name for name in given if name not in NAMES]:
        raise SetProblem(f"There is no set {unknown[0]}; there are {', '.join(NAMES)}.")
    if given:
        return list(dict.fromkeys(given))
    return list(OURS if settings.EVALUATION_DATA is None else NAMES)


def _chunking(options: dict[str, Any]) -> ChunkRequest:
    strategy = options["chunk_strategy"]
    return ChunkRequest(
        strategy=ChunkStrategy(strategy) if strategy else None,
        size=options["chunk_size"],
        overlap=options["chunk_overlap"],
    )


def _said(chunking: ChunkRequest) -> str:
    said = [str(value) for value in (chunking.strategy, chunking.size, chunking.overlap) if value is not None]
    return "/".join(said) or "the set's"
