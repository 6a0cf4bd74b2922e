"""Our own set: questions over our docs and over facts that we wrote. See ``docs/golden``."""

import json
from pathlib import Path
from typing import Any

from soat.engine.chunk import ChunkRequest, ChunkStrategy
from soat.evaluation.material import EvaluationSet, Evidence, Fact, Question, StoredFile, distinct

DOCS = Path(__file__).resolve().parents[3] / "docs"
FOLDER = DOCS / "golden"

DAYS_BETWEEN_FACTS = 7.0

_MEMORY = "golden"


def baseline_file(ranking: str) -> Path:
    """Return where the numbers of a ranking are committed."""
    return FOLDER / f"baseline-{ranking}.json"


def golden_set() -> EvaluationSet:
    """Documents and facts stand in one project, and every question is asked of both."""
    values = json.loads((FOLDER / "questions.json").read_text())
    facts = tuple(_fact(fact) for fact in json.loads((FOLDER / "facts.json").read_text()))
    distinct((fact.key for fact in facts), "The fact")
    distinct((question["key"] for question in values), "The question")
    return EvaluationSet(
        "golden", tuple(map(_question, values)), files=_files(), facts=facts, days_between_facts=DAYS_BETWEEN_FACTS
    )


def _files() -> tuple[StoredFile, ...]:
    by_size = ChunkRequest(strategy=ChunkStrategy.SIZE)
    corpus = [StoredFile(path.name, path, by_size) for path in sorted((FOLDER / "corpus").glob("*.md"))]
    return (StoredFile("handbook.pdf", DOCS / "sample" / "handbook.pdf"), *corpus)


def _fact(values: dict[str, str]) -> Fact:
    return Fact(values["key"], _MEMORY, values["text"])


def _question(values: dict[str, Any]) -> Question:
    quoted = [Evidence(place["document"], quote=place["quote"]) for place in values.get("quotes", [])]
    named = [Evidence(key) for key in values.get("facts", [])]
    return Question(
        values["key"],
        values["kind"],
        values["query"],
        (*quoted, *named),
        memories=(_MEMORY,),
        stale=tuple(values.get("stale", ())),
    )
