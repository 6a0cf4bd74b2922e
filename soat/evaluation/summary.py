"""From the outcomes of single questions to the numbers of a set, and to those of two runs beside each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from soat.engine.metrics import area_under_roc, percentile
from soat.evaluation.material import SetProblem
from soat.evaluation.runs import Asked, Run, SetRun
from soat.evaluation.statistics import Difference, Estimate, area_interval, estimate, paired_difference

ABSTENTION = "abstention"
ALL_KINDS = "all"


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of a search: one question embedded, twenty results, without HTTP."""

    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric of one set in two runs."""

    name: str
    metric: str
    first: float
    second: float
    difference: Difference


def by_kind(run: SetRun) -> dict[str, list[Asked]]:
    """Return the questions that have an answer: all, and by kind where there are several."""
    answerable = [asked for asked in run.asked if asked.answerable]
    kinds = sorted({asked.kind for asked in answerable})
    groups = {ALL_KINDS: answerable} if answerable else {}
    if len(kinds) > 1:
        groups |= {kind: [asked for asked in answerable if asked.kind == kind] for kind in kinds}
    return groups


def estimates(questions: Sequence[Asked]) -> dict[str, Estimate]:
    """Return each metric's mean over the questions that have it."""
    names = dict.fromkeys(name for asked in questions for name in asked.scores)
    return {name: estimate([asked.scores[name] for asked in questions if name in asked.scores]) for name in names}


def abstention(run: SetRun) -> Estimate | None:
    """Return how well the best score tells questions with an answer from those without, as area under the ROC curve.

    None for a set that has only one sort.
    """
    positive = [asked.best for asked in run.asked if asked.answerable]
    negative = [asked.best for asked in run.asked if not asked.answerable]
    if not positive or not negative:
        return None
    low, high = area_interval(positive, negative)
    return Estimate(area_under_roc(positive, negative), low, high, len(negative))


def latency(run: SetRun) -> Latency:
    """Return the middle and the slow end of the times."""
    times = [asked.milliseconds for asked in run.asked]
    return Latency(percentile(times, 0.5), percentile(times, 0.95))


def compare(first: Run, second: Run) -> list[Compared]:
    """Compare two runs question by question.

    Raises ``SetProblem`` for runs in different vector spaces, and for sets that are not the same ones: other
    texts, other questions, another half.
    """
    if first.space != second.space:
        raise SetProblem(f"The runs are of different spaces, {first.space} and {second.space}: not to be compared.")
    pairs = list(_pairs(first, second))
    return [row for left, right in pairs for row in _compare_sets(left, right)]


def _pairs(first: Run, second: Run) -> Iterator[tuple[SetRun, SetRun]]:
    left, right = ({one.name: one for one in run.sets} for run in (first, second))
    if left.keys() != right.keys():
        raise SetProblem(f"The runs are of different sets: {', '.join(left)} and {', '.join(right)}.")
    for name, one in left.items():
        other = right[name]
        if (one.fingerprint, one.half) != (other.fingerprint, other.half):
            raise SetProblem(f"{name} is not the same set in both runs: its texts, questions or half differ.")
        yield one, other


def _compare_sets(first: SetRun, second: SetRun) -> Iterator[Compared]:
    found = {asked.key: asked for asked in second.asked}
    pairs = [(asked, found[asked.key]) for asked in first.asked if asked.answerable]
    names = dict.fromkeys(name for asked, _ in pairs for name in asked.scores)
    for name in names:
        with_it = [(one.scores[name], other.scores[name]) for one, other in pairs if name in one.scores]
        left, right = [value for value, _ in with_it], [value for _, value in with_it]
        difference = paired_difference(left, right)
        yield Compared(first.name, name, sum(left) / len(left), sum(right) / len(right), difference)
