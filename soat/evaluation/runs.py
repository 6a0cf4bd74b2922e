"""Asking a set's questions, and keeping what came of it."""

import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from embeddings.spaces import space_status
from knowledge.results import Result
from knowledge.search import Search, search_knowledge
from soat.engine import metrics
from soat.engine.fusion import Ranking
from soat.evaluation.material import EvaluationSet, Half, Question, SetProblem
from soat.evaluation.scratch import scratch_project
from soat.evaluation.shelf import Progress, Shelf, stock
from soat.tenancy.access import ProjectScope

DEPTH = 20
CUTS = (1, 5, 10, 20)
SPAN_CUT = 5
"""Of so many chunks precision and overlap in characters are taken."""

RANKINGS = tuple(ranking.value for ranking in Ranking)
WARM_UP = 5
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """One question's outcome. ``scores`` has no recall and the like where there is no answer to be found."""

    key: str
    kind: str
    answerable: bool
    best: float
    milliseconds: float
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SetRun:
    """One set's outcome. ``fingerprint`` is that of all that was stored and asked."""

    name: str
    fingerprint: str
    half: str
    chunking: str
    stored: int
    seconds_to_store: float
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """What one call of the command measured, in one vector space with one ranking."""

    space: str
    ranking: str
    machine: str
    date: str
    sets: tuple[SetRun, ...] = field(default=())

    def save(self, path: Path) -> None:
        """Write the run as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, indent=1) + "\n")


def load_run(path: Path) -> Run:
    """Read a run that was saved. Raises ``SetProblem`` for a file that is none."""
    try:
        values = json.loads(path.read_text())
        if values.pop("format") != FORMAT:
            raise SetProblem(f"{path} was written by another version of this command.")
        return Run(**{**values, "sets": tuple(_set_run(one) for one in values["sets"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetProblem(f"{path} is no run that can be read: {error}") from error


def _set_run(values: dict[str, Any]) -> SetRun:
    return SetRun(**{**values, "asked": tuple(Asked(**asked) for asked in values["asked"])})


def new_run(ranking: str) -> Run:
    """Return a run without sets, of this moment. Raises ``SetProblem`` without a vector space to search in."""
    status = space_status()
    if status.space is None:
        raise SetProblem(status.message)
    return Run(
        space=str(status.space),
        ranking=ranking,
        machine=f"{platform.machine()}, {_processor()}, Python {platform.python_version()}",
        date=datetime.now(UTC).date().isoformat(),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} processors {names[0]}" if names else platform.processor()


def run_set(material: EvaluationSet, *, half: Half, chunking: str, ranking: str, progress: Progress) -> SetRun:
    """Store a set in a project of its own, ask the questions of one half, delete the project."""
    halved = material.half(half)
    if not halved.questions:
        raise SetProblem(f"{material.name} has no questions in this half.")
    with scratch_project(f"Evaluation of {material.name}", material.text_search_config) as project:
        begun = time.perf_counter()
        shelf = stock(material, project, progress)
        seconds = time.perf_counter() - begun
        shelf.check(material.questions)
        for question in halved.questions[:WARM_UP]:
            _search(shelf, question, ranking)
        asked = tuple(_ask(shelf, question, halved, ranking) for question in halved.questions)
    stored = len(material.passages) + len(material.files) + len(material.facts)
    return SetRun(material.name, halved.fingerprint(), half, chunking, stored, round(seconds, 2), asked)


def _search(shelf: Shelf, question: Question, ranking: str) -> list[Result]:
    return search_knowledge(
        scope=ProjectScope(everything=False, ids=(shelf.project.pk,)),
        search=Search(
            query=question.text,
            limit=DEPTH,
            memory_ids=tuple(shelf.memories[name].public_id for name in question.memories),
            document_paths=question.folders,
            ranking=Ranking(ranking),
        ),
    )


def _ask(shelf: Shelf, question: Question, material: EvaluationSet, ranking: str) -> Asked:
    begun = time.perf_counter()
    results = _search(shelf, question, ranking)
    milliseconds = (time.perf_counter() - begun) * 1_000
    return Asked(
        key=question.key,
        kind=question.kind,
        answerable=bool(question.evidence),
        best=round(results[0].score, 6) if results else 0.0,
        milliseconds=round(milliseconds, 3),
        scores={name: round(value, 6) for name, value in _scores(shelf, question, results, material).items()},
    )


def _scores(shelf: Shelf, question: Question, results: Sequence[Result], material: EvaluationSet) -> dict[str, float]:
    if not question.evidence:
        return {}
    by_character = material.by_character
    wanted = shelf.wanted(question, by_character=by_character)
    ranking = [shelf.covered(question, result, by_character=by_character) for result in results]
    scores = {f"recall@{k}": metrics.recall_at(ranking, wanted, k) for k in CUTS}
    scores |= {f"recall_all@{k}": metrics.recall_all_at(ranking, wanted, k) for k in CUTS}
    scores["mrr@10"] = metrics.reciprocal_rank_at(ranking, 10)
    scores["ndcg@10"] = metrics.ndcg_at(ranking, len(question.evidence), 10)
    if question.stale:
        outdated = [shelf.is_stale(question, result) for result in results]
        scores["fresh_first"] = metrics.fresh_before_stale(ranking, outdated)
    if by_character:
        scores |= _character_scores(shelf, question, results[:SPAN_CUT])
    return scores


def _character_scores(shelf: Shelf, question: Question, results: Sequence[Result]) -> dict[str, float]:
    """Return precision and overlap in characters; sources are laid end to end, so that no two places are equal."""
    sources = sorted(shelf.documents)
    offset = {source: number * 10**9 for number, source in enumerate(sources)}
    places = [place for result in results if (place := shelf.place(result)) is not None]
    found = [(offset[source] + start, offset[source] + end) for source, (start, end) in places]
    spans = [(offset[evidence.source], shelf.span_of(evidence)) for evidence in question.evidence]
    wanted = [(base + start, base + end) for base, (start, end) in spans]
    return {
        f"precision@{SPAN_CUT}": metrics.character_precision(found, wanted),
        f"iou@{SPAN_CUT}": metrics.character_iou(found, wanted),
    }
