"""Vectors that lie as those of real texts do: sentences embedded by the local model, and perturbed copies of them."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embeddings.port import EmbeddingConfig, TextKind, Vector
from embeddings.registry import build_embedder

Rows = npt.NDArray[np.float32]

PROJECT = Path(__file__).resolve().parents[1]
DIMENSIONS = 384
TEXTS = 4_000
QUERIES = 400
# A copy has a cosine of about .93 to the sentence that it is made of: a neighbour, no twin.
NOISE = 0.02
_BATCH = 64
_SEED = 7
_SHORTEST, _LONGEST = 30, 300


@dataclass(frozen=True, slots=True)
class Material:
    """Sentences with their vectors, and other sentences that ask; none of these is among the first."""

    texts: list[str]
    base: Rows
    questions: list[str]
    queries: Rows

    def rows(self, count: int, random: np.random.Generator) -> Rows:
        """Return ``count`` perturbed copies in the order of the texts, so that neighbours in a document are alike."""
        return perturbed(self.base[np.arange(count) % len(self.base)], random)


def perturbed(rows: Rows, random: np.random.Generator) -> Rows:
    """Return the vectors with noise on them, of length 1 again."""
    noisy = rows + random.normal(0, NOISE, rows.shape)
    return np.asarray(noisy / np.linalg.norm(noisy, axis=1, keepdims=True), dtype=np.float32)


def embedded_material() -> Material:
    """Embed the sentences of our documents, and of ``SOAT_EVAL_DATA`` where it is there; every tenth one or so asks."""
    sentences = _spread(sorted(set(_sentences())), TEXTS + QUERIES)
    embedded = _embedded(sentences)
    count = min(QUERIES, len(embedded) // 10)
    every = len(embedded) // count
    # In no order, so that the first few are like all of them.
    asking = [embedded[place * every] for place in np.random.default_rng(_SEED).permutation(count)]
    told = [pair for place, pair in enumerate(embedded) if place % every or place // every >= count]
    return Material(
        [text for text, _ in told],
        np.asarray([vector for _, vector in told]),
        [text for text, _ in asking],
        np.asarray([vector for _, vector in asking]),
    )


def _spread(sentences: list[str], count: int) -> list[str]:
    """Return ``count`` of them, evenly taken and in their order."""
    if len(sentences) <= count:
        return sentences
    return [sentences[place * len(sentences) // count] for place in range(count)]


def _embedded(texts: list[str]) -> list[tuple[str, Vector]]:
    """Return the texts that the model knows, each with its vector."""
    config = EmbeddingConfig(provider="local", model="all-MiniLM-L6-v2", dimensions=DIMENSIONS, threads=2)
    embedder = build_embedder(config)
    pairs: list[tuple[str, Vector]] = []
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        answers = embedder.embed(batch, kind=TextKind.DOCUMENT)
        pairs.extend((text, row) for text, row in zip(batch, answers, strict=True) if isinstance(row, np.ndarray))
    return pairs


def _sentences() -> Iterator[str]:
    for text in _texts():
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
            stripped = sentence.strip(" -*#|>`")
            if _SHORTEST <= len(stripped) <= _LONGEST:
                yield stripped


def _texts() -> Iterator[str]:
    for file in sorted(PROJECT.glob("**/*.md")):
        if ".venv" not in file.parts:
            yield file.read_text(encoding="utf-8")
    yield from _strings(json.loads((PROJECT / "docs" / "openapi.json").read_text(encoding="utf-8")))
    folder = os.environ.get("SOAT_EVAL_DATA", "").strip()
    for file in sorted(Path(folder).glob("**/*.json")) if folder else []:
        yield from _strings(json.loads(file.read_text(encoding="utf-8")))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)
