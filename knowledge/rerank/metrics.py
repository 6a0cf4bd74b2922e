"""A reranker whose calls are counted."""

import time
from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from knowledge.rerank.port import Reranker, RerankError

CALLS = Counter("soat_rerank_calls", "Calls of the reranker, by result.", ["result"])
TEXTS = Counter("soat_rerank_texts", "Texts handed to the reranker.")
SECONDS = Histogram(
    "soat_rerank_seconds",
    "Time that a search waited for the reranker.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


class CountedReranker:
    """Hands everything on to a reranker and counts it."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Rerank; raises what the reranker raises."""
        begun = time.perf_counter()
        result = "crashed"
        try:
            relevances = self._reranker.rerank(query, texts)
            result = "ok"
        except RerankError as error:
            result = error.failure
            raise
        finally:
            CALLS.labels(result).inc()
            TEXTS.inc(len(texts))
            SECONDS.observe(time.perf_counter() - begun)
        return relevances
