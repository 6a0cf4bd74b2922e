"""A reranker that is not waited for any longer than was said."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from embeddings.providers.per_process import PerProcess
from embeddings.providers.remote import MOST_CONNECTIONS
from knowledge.rerank.port import Failure, Reranker, RerankUnavailable


class PunctualReranker:
    """Asks in another thread and leaves it to itself when the time is over.

    An HTTP client's timeouts are those of single steps: a name that does not resolve or a server that sends a byte
    now and then can take any multiple of them.
    """

    def __init__(self, reranker: Reranker, *, seconds: float) -> None:
        self._reranker = reranker
        self._seconds = seconds
        self._threads = PerProcess(lambda: ThreadPoolExecutor(MOST_CONNECTIONS, thread_name_prefix="rerank"))

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return what the reranker returns, in time, or raise `RerankUnavailable`."""
        call = self._threads.get().submit(self._reranker.rerank, query, texts)
        try:
            return call.result(timeout=self._seconds)
        except TimeoutError:
            call.cancel()
            message = f"The reranker did not answer within {self._seconds:g} seconds."
            raise RerankUnavailable(Failure.TIMED_OUT, message) from None
