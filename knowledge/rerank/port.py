"""What a search knows about a reranker: the ``Reranker`` port, its settings and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class Failure(StrEnum):
    """Why nothing was reranked, as a closed set that may be counted."""

    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    BUSY = "busy"
    SERVER_ERROR = "server_error"
    REFUSED = "refused"
    MALFORMED_ANSWER = "malformed_answer"
    WRONG_COUNT = "wrong_count"
    NO_RELEVANCE = "no_relevance"


@dataclass(frozen=True, slots=True)
class RerankConfig:
    """The settings that reach a reranker. ``timeout`` is seconds, ``api_key`` None where none is needed."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 2.0


class RerankError(Exception):
    """No relevances were had. The message never holds a text or a key: it is logged."""

    def __init__(self, failure: Failure, message: str) -> None:
        super().__init__(message)
        self.failure = failure


class RerankUnavailable(RerankError):
    """The reranker did not answer, or not now; a later question may have more luck."""


class RerankRejected(RerankError):
    """The reranker refused, or its answer cannot be used: asking again does not help."""


class Reranker(Protocol):
    """A model that judges texts. Implementations are thread-safe and survive a fork."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the query, 0 to 1, in the order of the texts, which are at least one.

        Raises `RerankUnavailable` or `RerankRejected` for all of them together: there is no half an answer.
        """
        ...
