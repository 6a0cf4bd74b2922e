"""The sets by name: our own, in the repository, and those of others, in a folder that a setting names."""

from collections.abc import Callable
from pathlib import Path

from soat.evaluation.material import EvaluationSet, SetProblem
from soat.evaluation.sets.golden import golden_set
from soat.evaluation.sets.locomo import locomo_sessions, locomo_turns
from soat.evaluation.sets.multihop import hotpotqa, musique
from soat.evaluation.sets.scenarios import scenario_set
from soat.evaluation.sets.spans import chunking_spans
from soat.evaluation.sets.xquad import xquad

OURS: dict[str, Callable[[], EvaluationSet]] = {"golden": golden_set, "scenarios": scenario_set}

OTHERS: dict[str, Callable[[Path], EvaluationSet]] = {
    "locomo-turns": locomo_turns,
    "locomo-sessions": locomo_sessions,
    "xquad-en": lambda data: xquad(data, "en"),
    "xquad-es": lambda data: xquad(data, "es"),
    "xquad-zh": lambda data: xquad(data, "zh"),
    "hotpotqa": hotpotqa,
    "musique": musique,
    "chunking": chunking_spans,
}

NAMES = (*OURS, *OTHERS)


def load_set(name: str, data: Path | None) -> EvaluationSet:
    """Read a set. Raises ``SetProblem`` for one whose data are not there or do not fit together."""
    try:
        if name in OURS:
            return OURS[name]()
        if data is None:
            raise SetProblem(f"{name} needs the folder of the data sets: set SOAT_EVAL_DATA.")
        return OTHERS[name](data)
    except (OSError, ValueError, KeyError) as error:
        raise SetProblem(f"The set {name} cannot be read: {error}") from error
