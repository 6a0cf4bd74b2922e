"""XQuAD: 240 paragraphs and 1,190 questions, the same in every language (Artetxe et al. 2020)."""

import json
from pathlib import Path

from soat.evaluation.material import EvaluationSet, Evidence, Passage, Question

_CONFIGS = {"en": "english", "es": "spanish"}


def xquad(data: Path, language: str) -> EvaluationSet:
    """Every paragraph is a document; the answer is the paragraph that the question was asked about."""
    articles = json.loads((data / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8-sig"))["data"]
    passages: list[Passage] = []
    questions: list[Question] = []
    for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
        key = str(len(passages))
        passages.append(Passage(key, f"/{key}.txt", paragraph["context"]))
        questions.extend(
            Question(asked["id"], "paragraph", asked["question"], (Evidence(key),)) for asked in paragraph["qas"]
        )
    return EvaluationSet(
        f"xquad-{language}",
        tuple(questions),
        passages=tuple(passages),
        text_search_config=_CONFIGS.get(language, "simple"),
    )
