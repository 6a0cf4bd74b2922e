"""The golden set's numbers as they are committed, and what a run has lost against them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soat.evaluation.material import SetProblem
from soat.evaluation.runs import Run
from soat.evaluation.summary import by_kind

FOUND = "recall@10"
TOLERATED_QUESTIONS = 1
"""Int8 vectors differ in their last digits between processors: near a tie one question may fall out."""

TOLERATED_RANK = 0.01
"""How far the mean reciprocal rank may fall for the same reason."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a run had: the mean reciprocal rank, and each question's recall@10."""

    space: str
    ranking: str
    fingerprint: str
    mrr: float
    found: dict[str, float]


def baseline_of(run: Run, name: str) -> Baseline:
    """Return what a set of a run had. Raises ``SetProblem`` where the run has no such set."""
    one = next((one for one in run.sets if one.name == name), None)
    if one is None:
        raise SetProblem(f"The run has no set {name}.")
    answerable = by_kind(one)["all"]
    mean = sum(asked.scores["mrr@10"] for asked in answerable) / len(answerable)
    found = {asked.key: asked.scores[FOUND] for asked in answerable}
    return Baseline(run.space, run.ranking, one.fingerprint, round(mean, 4), found)


def save_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline, a question a line, so that a change shows as such."""
    values: dict[str, Any] = {
        "space": baseline.space,
        "ranking": baseline.ranking,
        "fingerprint": baseline.fingerprint,
        "mrr@10": baseline.mrr,
        FOUND: baseline.found,
    }
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n")


def load_baseline(path: Path) -> Baseline:
    """Read a baseline."""
    values = json.loads(path.read_text())
    return Baseline(values["space"], values["ranking"], values["fingerprint"], values["mrr@10"], values[FOUND])


def losses(before: Baseline, now: Baseline) -> list[str]:
    """Return in sentences what is worse than it was, beyond what is tolerated; empty if nothing is.

    Raises ``SetProblem`` for baselines of different spaces or sets.
    """
    if (before.space, before.fingerprint) != (now.space, now.fingerprint):
        raise SetProblem(
            f"The baseline is of {before.space}, set {before.fingerprint}; this run of {now.space}, set"
            f" {now.fingerprint}. After a change of the set write the baseline anew."
        )
    lost = {key: (was, now.found[key]) for key, was in before.found.items() if now.found[key] < was}
    fallen = sum(before.found.values()) - sum(now.found.values())
    sentences = []
    if fallen > TOLERATED_QUESTIONS:
        named = ", ".join(f"{key} {was:g} → {is_now:g}" for key, (was, is_now) in lost.items())
        sentences.append(f"{FOUND} fell by {fallen:g} questions: {named}.")
    if now.mrr < before.mrr - TOLERATED_RANK:
        sentences.append(f"mrr@10 fell from {before.mrr:g} to {now.mrr:g}.")
    return sentences
