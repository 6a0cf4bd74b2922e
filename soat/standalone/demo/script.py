"""What the demo stores and asks, and which answers it expects: read from ``docs/sample``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact to write; ``expect`` is the action that the answer has to name, and ``note`` says why."""

    content: str
    tags: list[str]
    expect: str
    note: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what its first result has to be; ``page`` is ``None`` where pages have no say."""

    query: str
    asks_memory: bool
    source: str
    contains: str
    page: int | None


@dataclass(frozen=True, slots=True)
class Script:
    """All that the demo needs to know beforehand."""

    document: Path
    memory: dict[str, Any]
    facts: list[Fact]
    questions: list[Question]


def read_script(folder: Path) -> Script:
    """Read the script that lies beside its document."""
    values = json.loads((folder / "demo.json").read_text(encoding="utf-8"))
    facts = [Fact(**fact) for fact in values["facts"]]
    return Script(folder / "handbook.pdf", values["memory"], facts, [_question(each) for each in values["questions"]])


def _question(values: dict[str, Any]) -> Question:
    expected = values["expect"]
    return Question(
        query=values["query"],
        asks_memory=values["scope"] == "both",
        source=expected["source"],
        contains=expected["contains"],
        page=expected.get("page"),
    )
