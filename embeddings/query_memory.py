"""An embedder that keeps the vectors of the latest questions."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from embeddings.port import Answer, Embedder, Space, TextKind, Vector
from soat.engine.windows import Span


class QueryMemory:
    """Hands everything on to an embedder, except questions that were asked lately. Safe for threads.

    Only vectors are kept, and never a refusal or a failure. At most ``size`` of them: the one asked longest ago goes.
    """

    def __init__(self, embedder: Embedder, size: int) -> None:
        self._embedder = embedder
        self._size = size
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def space(self) -> Space:
        """The embedder's space."""
        return self._embedder.space

    @property
    def max_batch(self) -> int:
        """The embedder's own limit."""
        return self._embedder.max_batch

    def windows(self, text: str) -> list[Span]:
        """Cut as the embedder does."""
        return self._embedder.windows(text)

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        """Embed; raises what the embedder raises."""
        if kind is not TextKind.QUERY:
            return self._embedder.embed(texts, kind=kind, urgent=urgent)
        found: dict[str, Answer] = {text: vector for text in texts if (vector := self._recall(text)) is not None}
        if missing := [text for text in dict.fromkeys(texts) if text not in found]:
            answers = self._embedder.embed(missing, kind=kind, urgent=urgent)
            found |= dict(zip(missing, answers, strict=True))
            self._keep(found)
        return [found[text] for text in texts]

    def _recall(self, text: str) -> Vector | None:
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
            return self._kept.get(text)

    def _keep(self, answers: dict[str, Answer]) -> None:
        with self._lock:
            for text, answer in answers.items():
                if isinstance(answer, np.ndarray):
                    self._kept[text] = answer
                    self._kept.move_to_end(text)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
