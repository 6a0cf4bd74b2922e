"""An embedder that does what a test tells it to, in place of a model."""

import threading
from collections.abc import Callable, Sequence

import numpy as np

from embeddings.port import Answer, EmbeddingError, Space, TextKind, Vector
from soat.engine.windows import Span, character_windows
from tests.embeddings.model_server import text_vector

Reply = Callable[[str], Answer]
BatchFault = Callable[[Sequence[str]], EmbeddingError | None]


def vector_of(text: str) -> Vector:
    """Return the vector that the scripted model has for a text."""
    return np.asarray(text_vector(text, 8), dtype=np.float32)


class ScriptedEmbedder:
    """Takes windows of 40 characters and batches of four; counts what it is asked."""

    max_batch = 4

    def __init__(self, *, reply: Reply = vector_of, batch_fault: BatchFault = lambda texts: None) -> None:
        self.space = Space("scripted", "test", 8)
        self.calls: list[list[str]] = []
        self.urgent: set[bool] = set()
        self._reply = reply
        self._batch_fault = batch_fault
        self._lock = threading.Lock()

    def windows(self, text: str) -> list[Span]:
        return character_windows(text, limit=40, overlap=4)

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        with self._lock:
            self.calls.append(list(texts))
            self.urgent.add(urgent)
        fault = self._batch_fault(texts)
        if fault is not None:
            raise fault
        return [self._reply(text) for text in texts]
