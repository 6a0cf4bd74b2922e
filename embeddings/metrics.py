"""An embedder whose calls are counted."""

import time
from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from embeddings.port import Answer, Embedder, EmbedderMisconfigured, EmbeddingError, EmbeddingRejected, Space, TextKind
from soat.engine.windows import Span

CALLS = Counter("soat_embedder_calls", "Calls of the embedding model, by kind of text and result.", ["kind", "result"])
TEXTS = Counter("soat_embedder_texts", "Texts handed to the embedding model, by kind.", ["kind"])
REJECTED = Counter("soat_embedder_rejected_texts", "Texts that the model gave no vector, by reason.", ["reason"])
SECONDS = Histogram(
    "soat_embedder_seconds",
    "Time that a call of the embedding model took, by kind of text.",
    ["kind"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)


class CountedEmbedder:
    """Hands everything on to an embedder and counts it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

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
        begun = time.perf_counter()
        result = "crashed"
        try:
            answers = self._embedder.embed(texts, kind=kind, urgent=urgent)
            result = "ok"
        except EmbeddingError as error:
            result = _result_of(error)
            raise
        finally:
            CALLS.labels(kind, result).inc()
            TEXTS.labels(kind).inc(len(texts))
            SECONDS.labels(kind).observe(time.perf_counter() - begun)
        for answer in answers:
            if isinstance(answer, EmbeddingRejected):
                REJECTED.labels(answer.reason).inc()
        return answers


def _result_of(error: EmbeddingError) -> str:
    if isinstance(error, EmbeddingRejected):
        return "rejected"
    return "misconfigured" if isinstance(error, EmbedderMisconfigured) else "unavailable"
