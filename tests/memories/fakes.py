"""Embedders that do what a test says, in the dimensions of the configured space."""

import math
import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from embeddings.port import Answer, Embedder, EmbeddingError, EmbeddingUnavailable, Space, TextKind, Vector
from soat.engine.windows import Span

DIMENSIONS = 384
SPACE = Space("local", "all-MiniLM-L6-v2", DIMENSIONS)


def use_embedder(monkeypatch: pytest.MonkeyPatch, embedder: Embedder) -> None:
    """Let every service embed with ``embedder``."""
    monkeypatch.setattr("embeddings.services.configured_embedder", lambda: embedder)


class FakeEmbedder:
    """Answers with ``reply``, one window a text, and remembers what it was asked."""

    max_batch = 16

    def __init__(self, reply: Callable[[str], Answer]) -> None:
        self.space = SPACE
        self.asked: list[tuple[TextKind, str]] = []
        self._reply = reply
        self._lock = threading.Lock()

    def windows(self, text: str) -> list[Span]:
        return [Span(0, len(text))]

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        with self._lock:
            self.asked.extend((kind, text) for text in texts)
        return [self._reply(text) for text in texts]


class FailingEmbedder(FakeEmbedder):
    """A provider that gives no answer to any text."""

    def __init__(self, error: EmbeddingError | None = None) -> None:
        super().__init__(lambda text: at_cosine(1.0))
        self._error = error or EmbeddingUnavailable("connection refused")

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        raise self._error


class WindowedEmbedder(FakeEmbedder):
    """Takes one line of a text as one window."""

    def windows(self, text: str) -> list[Span]:
        spans: list[Span] = []
        start = 0
        for line in text.splitlines(keepends=True):
            spans.append(Span(start, start + len(line)))
            start += len(line)
        return spans


class CountingEmbedder:
    """Passes everything on to a real embedder, and remembers what it was asked."""

    def __init__(self, inner: Embedder) -> None:
        self.space = inner.space
        self.max_batch = inner.max_batch
        self.asked: list[tuple[TextKind, bool, list[str]]] = []
        self._inner = inner

    def windows(self, text: str) -> list[Span]:
        return self._inner.windows(text)

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        self.asked.append((kind, urgent, list(texts)))
        return self._inner.embed(texts, kind=kind, urgent=urgent)


def at_cosine(cosine: float, *, axis: int = 1) -> Vector:
    """Return a unit vector with this cosine to the first axis; ``axis`` takes the rest."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[0] = cosine
    vector[axis] = math.sqrt(1.0 - cosine * cosine)
    return vector


def placed(cosines: Mapping[str, float]) -> FakeEmbedder:
    """Return an embedder that knows these texts by their cosine to the first axis."""
    return FakeEmbedder(lambda text: at_cosine(cosines[text.strip()]))
