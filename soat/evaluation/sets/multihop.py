"""Questions that need two to four paragraphs: the first hundred of HotpotQA and MuSiQue, as HippoRAG cut them."""

import json
from pathlib import Path
from typing import Any

from soat.evaluation.material import EvaluationSet, Evidence, Passage, Question


def hotpotqa(data: Path) -> EvaluationSet:
    """The corpus maps titles to sentences; the answer is the paragraphs of the supporting facts."""
    corpus, asked = _read(data, "hotpotqa")
    passages = [_passage(number, title, "".join(lines)) for number, (title, lines) in enumerate(corpus.items())]
    keys = {title: str(number) for number, title in enumerate(corpus)}
    questions = [
        Question(
            question["_id"],
            question["type"],
            question["question"],
            tuple(Evidence(keys[title]) for title in dict.fromkeys(title for title, _ in question["supporting_facts"])),
        )
        for question in asked
    ]
    return EvaluationSet("hotpotqa", tuple(questions), passages=tuple(passages))


def musique(data: Path) -> EvaluationSet:
    """The corpus is a list; titles repeat in it, so a paragraph is known by title and text."""
    corpus, asked = _read(data, "musique")
    passages = [_passage(number, row["title"], row["text"]) for number, row in enumerate(corpus)]
    keys = {(row["title"], row["text"]): str(number) for number, row in enumerate(corpus)}
    questions = []
    for question in asked:
        named = [keys[row["title"], row["paragraph_text"]] for row in question["paragraphs"] if row["is_supporting"]]
        answer = tuple(Evidence(key) for key in dict.fromkeys(named))
        questions.append(Question(question["id"], f"{len(answer)} hops", question["question"], answer))
    return EvaluationSet("musique", tuple(questions), passages=tuple(passages))


def _read(data: Path, name: str) -> tuple[Any, Any]:
    folder = data / "multihop"
    corpus = json.loads((folder / f"{name}_train_corpus.json").read_text())
    return corpus, json.loads((folder / f"{name}_train.json").read_text())


def _passage(number: int, title: str, text: str) -> Passage:
    return Passage(str(number), f"/{number}.txt", f"{title}\n{text}", title)
