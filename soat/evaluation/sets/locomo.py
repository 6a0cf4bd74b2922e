"""LoCoMo: ten very long conversations of two people, with questions and the turns that answer them.

``locomo/locomo10.json`` of Maharana et al. 2024. Categories 1 to 4 have an answer; those of the fifth sound as
if they had one, and should be abstained from.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from soat.evaluation.material import EvaluationSet, Evidence, Fact, Passage, Question

_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "abstention"}


def locomo_turns(data: Path) -> EvaluationSet:
    """Every turn is a fact of its conversation's memory; the answer is the turns that the question names."""
    facts: list[Fact] = []
    questions: list[Question] = []
    for sample in _samples(data):
        name = sample["sample_id"]
        turns = {turn["dia_id"]: turn for _, _, turns in _sessions(sample) for turn in turns}
        facts.extend(Fact(f"{name}/{key}", name, _line(turn)) for key, turn in turns.items())
        for key, kind, text, named in _asked(sample):
            answer = tuple(Evidence(f"{name}/{turn}") for turn in named if turn in turns)
            if kind == "abstention" or answer:
                questions.append(Question(key, kind, text, answer, memories=(name,)))
    return EvaluationSet("locomo-turns", tuple(questions), facts=tuple(facts))


def locomo_sessions(data: Path) -> EvaluationSet:
    """Every session is a document in its conversation's folder; the answer is the sessions of the named turns."""
    passages: list[Passage] = []
    questions: list[Question] = []
    for sample in _samples(data):
        name = sample["sample_id"]
        sessions = {}
        for number, date, turns in _sessions(sample):
            text = "\n".join([date, *(_line(turn) for turn in turns)])
            sessions[number] = Passage(f"{name}/{number}", f"/{name}/session-{number}.txt", text)
        passages.extend(sessions.values())
        for key, kind, text, named in _asked(sample):
            numbers = dict.fromkeys(turn.partition(":")[0].removeprefix("D") for turn in named)
            answer = tuple(Evidence(f"{name}/{number}") for number in numbers if number in sessions)
            if kind == "abstention" or answer:
                questions.append(Question(key, kind, text, answer, folders=(f"/{name}/",)))
    return EvaluationSet("locomo-sessions", tuple(questions), passages=tuple(passages))


def _samples(data: Path) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = json.loads((data / "locomo" / "locomo10.json").read_text())
    return samples


def _sessions(sample: dict[str, Any]) -> Iterator[tuple[str, str, list[dict[str, str]]]]:
    conversation = sample["conversation"]
    for name, turns in conversation.items():
        if (match := re.fullmatch(r"session_(\d+)", name)) and turns:
            yield match[1], conversation[f"{name}_date_time"], turns


def _line(turn: dict[str, str]) -> str:
    picture = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{picture}"


def _asked(sample: dict[str, Any]) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield key, kind, text and named turns; a question that should not be answered names none."""
    for number, question in enumerate(sample["qa"]):
        kind = _KINDS[question["category"]]
        named = [] if kind == "abstention" else _named_turns(question["evidence"])
        yield f"{sample['sample_id']}/{number}", kind, question["question"], named


def _named_turns(evidence: list[str]) -> list[str]:
    """Return the ids in a field that is also written ``D8:6; D9:17``, ``D:11:26`` and ``D30:05``."""
    found = re.findall(r"D:?(\d+):0*(\d+)", " ".join(evidence))
    return list(dict.fromkeys(f"D{session}:{turn}" for session, turn in found))
