"""Kept vectors: the same as fresh ones, and asked for once."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from embeddings.port import Answer, EmbeddingRejected, Reason, Space, TextKind
from embeddings.services import embed_documents
from soat.engine.windows import Span
from soat.evaluation.kept_vectors import remembering, vectors_kept_in


class Recording:
    """A model that counts letters, and notes what it was asked."""

    space = Space("local", "letters", 2)
    max_batch = 8

    def __init__(self) -> None:
        self.asked: list[str] = []

    def windows(self, text: str) -> list[Span]:
        return [Span(0, len(text))]

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        self.asked.extend(texts)
        return [
            np.array([1, len(text)], dtype=np.float32)
            if text != "no"
            else EmbeddingRejected(Reason.REFUSED, "The text is refused.")
            for text in texts
        ]


def test_a_stored_text_is_embedded_once_and_a_question_every_time(tmp_path: Path) -> None:
    model = Recording()
    with remembering(tmp_path / "kept.sqlite3") as remember:
        first = remember(model).embed(["a", "bb", "a", "no"], kind=TextKind.DOCUMENT)
    with remembering(tmp_path / "kept.sqlite3") as remember:
        second = remember(model).embed(["bb", "ccc", "a", "no"], kind=TextKind.DOCUMENT)
        remember(model).embed(["a"], kind=TextKind.QUERY)
    assert model.asked == ["a", "bb", "no", "ccc", "no", "a"]
    assert np.array_equal(np.stack([np.asarray(first[0]), np.asarray(first[1])]), [[1, 1], [1, 2]])
    assert np.array_equal(np.stack([np.asarray(answer) for answer in second[:3]]), [[1, 2], [1, 3], [1, 1]])
    assert isinstance(second[3], EmbeddingRejected)


def test_what_is_stored_meanwhile_has_the_vectors_that_it_would_have_anyway(db: None, tmp_path: Path) -> None:
    texts = ["The harbour is calm.", "A long walk. " * 200]
    plain = embed_documents(texts).texts
    for _ in range(2):
        with vectors_kept_in(tmp_path / "kept.sqlite3"):
            kept = embed_documents(texts).texts
        for one, other in zip(plain, kept, strict=True):
            assert len(one.windows) == len(other.windows)
            assert all(np.array_equal(a, b) for a, b in zip(one.windows, other.windows, strict=True))
    with sqlite3.connect(tmp_path / "kept.sqlite3") as file:
        assert file.execute("SELECT count(*) FROM kept").fetchone()[0] > 2
