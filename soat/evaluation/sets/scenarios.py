"""Small histories of memories, written through the funnel: what is found after facts have changed."""

import json
from typing import Any

from soat.evaluation.material import Act, EvaluationSet, Evidence, Fact, Question, distinct
from soat.evaluation.sets.golden import DAYS_BETWEEN_FACTS, FOLDER


def scenario_set() -> EvaluationSet:
    """Every scenario is a memory with its own facts, changes and questions."""
    facts: list[Fact] = []
    questions: list[Question] = []
    for scenario in json.loads((FOLDER / "scenarios.json").read_text()):
        name = scenario["name"]
        facts.extend(_step(name, step) for step in scenario["steps"])
        questions.extend(_question(name, number, asked) for number, asked in enumerate(scenario["questions"], 1))
    distinct((fact.key for fact in facts if fact.act is not Act.DELETE), "The fact")
    return EvaluationSet("scenarios", tuple(questions), facts=tuple(facts), days_between_facts=DAYS_BETWEEN_FACTS)


def _step(name: str, step: dict[str, str]) -> Fact:
    match step:
        case {"write": key, "text": text}:
            return Fact(f"{name}/{key}", name, text)
        case {"edit": of, "as": key, "text": text}:
            return Fact(f"{name}/{key}", name, text, Act.EDIT, f"{name}/{of}")
        case {"delete": of}:
            return Fact(f"{name}/{of}", name, act=Act.DELETE, of=f"{name}/{of}")
    raise ValueError(f"{name}: {step} is no step")


def _question(name: str, number: int, asked: dict[str, Any]) -> Question:
    return Question(
        f"{name}/{number}",
        asked["kind"],
        asked["query"],
        tuple(Evidence(f"{name}/{key}") for key in asked["expect"]),
        memories=(name,),
        stale=tuple(f"{name}/{key}" for key in asked.get("stale", [])),
    )
