"""Chroma's chunking evaluation: five long texts, and for each question the passages that answer it, by character.

What counts is how much of these passages the chunks that are found hold, and how much else (Smith and
Troynikov 2024).
"""

import csv
import json
import sys
from pathlib import Path

from soat.engine.chunk import ChunkRequest, ChunkStrategy
from soat.evaluation.material import EvaluationSet, Evidence, Passage, Question


def chunking_spans(data: Path) -> EvaluationSet:
    """Every corpus is a document, cut by size as files of running text are."""
    folder = data / "chunking_evaluation"
    passages = tuple(
        Passage(
            path.stem, f"/{path.name}", path.read_bytes().decode(), chunking=ChunkRequest(strategy=ChunkStrategy.SIZE)
        )
        for path in sorted((folder / "corpora").glob("*.md"))
    )
    csv.field_size_limit(sys.maxsize)
    with (folder / "questions_df.csv").open(newline="") as file:
        questions = tuple(
            Question(str(number), row["corpus_id"], row["question"], _evidence(row))
            for number, row in enumerate(csv.DictReader(file))
        )
    return EvaluationSet("chunking", questions, passages=passages, by_character=True)


def _evidence(row: dict[str, str]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(row["corpus_id"], span=(reference["start_index"], reference["end_index"]))
        for reference in json.loads(row["references"])
    )
