"""Embedders that fail as providers do, to stand behind ``embeddings.services``."""

from collections.abc import Callable, Sequence

import numpy as np

from embeddings.port import Answer, EmbeddingRejected, EmbeddingUnavailable, Reason, Space, TextKind
from soat.engine.windows import Span

DIMENSIONS = 384
Reply = Callable[[str], Answer]


def constant_vector(text: str) -> Answer:
    """Return the same unit vector for every text: free, and good enough where nothing is ranked."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[0] = 1.0
    return vector


def unavailable(text: str) -> Answer:
    """Fail as a provider that is down."""
    raise EmbeddingUnavailable("The provider is down.")


def rejects(marker: str) -> Reply:
    """Return a reply that refuses for good every text with ``marker`` in it."""

    def reply(text: str) -> Answer:
        if marker in text:
            return EmbeddingRejected(Reason.REFUSED, "Not this text.")
        return constant_vector(text)

    return reply


class FakeEmbedder:
    """Takes a text of any length as one window; notes the batches that it was asked for, and how urgently."""

    space = Space("local", "all-MiniLM-L6-v2", DIMENSIONS)
    max_batch = 64

    def __init__(self, reply: Reply = constant_vector) -> None:
        self.calls: list[list[str]] = []
        self.urgent: list[bool] = []
        self.reply = reply

    def windows(self, text: str) -> list[Span]:
        return [Span(0, len(text))]

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        self.calls.append(list(texts))
        self.urgent.append(urgent)
        return [self.reply(text) for text in texts]
