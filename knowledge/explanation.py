"""How a search came to its results, for those who run the server."""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from knowledge.nearest import Look
from knowledge.rerank.port import Failure
from knowledge.results import Result
from soat.engine.rank import Source

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Found(Generic[R]):
    """The results of one source, and how they were found."""

    results: list[R]
    look: Look


@dataclass(frozen=True, slots=True)
class SourceExplanation:
    """How one source was searched, and how long it took."""

    source: Source
    look: Look
    milliseconds: float


@dataclass(frozen=True, slots=True)
class RerankExplanation:
    """How many texts were handed to the reranker, how long it was waited for, and why it failed if it did."""

    texts: int
    milliseconds: float
    failure: Failure | None


@dataclass(slots=True)
class Explanation:
    """How a search went; without a query nothing was embedded, and without results nothing reranked."""

    embedding_ms: float | None = None
    sources: list[SourceExplanation] = field(default_factory=list)
    rerank: RerankExplanation | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of a search, and how it went."""

    results: list[Result]
    explanation: Explanation


def represent_explanation(explanation: Explanation) -> dict[str, Any]:
    """Return a ``KnowledgeExplanation``; times are rounded to microseconds."""
    return {
        "embedding_ms": None if explanation.embedding_ms is None else round(explanation.embedding_ms, 3),
        "sources": [
            {
                "source_type": part.source,
                "way": part.look.way,
                "counted": part.look.counted,
                "exact_up_to": part.look.bound,
                "index_fell_short": part.look.fell_short,
                "ms": round(part.milliseconds, 3),
            }
            for part in explanation.sources
        ],
        "rerank": None if explanation.rerank is None else _rerank(explanation.rerank),
    }


def _rerank(part: RerankExplanation) -> dict[str, Any]:
    return {
        "texts": part.texts,
        "ms": round(part.milliseconds, 3),
        "failed": part.failure is not None,
        "failure": part.failure,
    }
