"""How a search came to its results, for those who run the server."""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from knowledge.nearest import Look
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


@dataclass(slots=True)
class Explanation:
    """How a search went; without a query nothing was embedded."""

    embedding_ms: float | None = None
    sources: list[SourceExplanation] = field(default_factory=list)


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
    }
