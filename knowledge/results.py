"""One result of a search, of either source."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from soat.core.models import wire_time
from soat.engine.fusion import Legs
from soat.engine.rank import Source
from soat.engine.vectors import clamp_score


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """A chunk. ``similarity`` is raw cosine, None where no query ran or only the words found it.

    ``legs`` and ``fused``, the score that they make, are those of a hybrid ranking; ``reranked``, the score that is
    left by a rerank, and ``rerank_place``, the place that the reranker gave, those of a rerank.
    """

    id: str
    document_id: str
    file_id: str
    project_id: str
    chunk_index: int
    page: int | None
    content: str
    path: str | None
    filename: str
    size: int
    title: str | None
    metadata: dict[str, Any] | None
    tags: dict[str, str] | None
    created_at: datetime
    similarity: float | None = None
    legs: Legs | None = None
    fused: float | None = None
    reranked: float | None = None
    rerank_place: int | None = None

    source = Source.DOCUMENT

    @property
    def score(self) -> float:
        """Return what the results are ordered by."""
        return _last_score(self.reranked, self.fused, self.similarity)


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """A valid entry; ``similarity`` and all below it as of a chunk."""

    id: str
    memory_id: str
    memory_name: str
    content: str
    tags: list[str]
    created_at: datetime
    updated_at: datetime
    similarity: float | None = None
    legs: Legs | None = None
    fused: float | None = None
    reranked: float | None = None
    rerank_place: int | None = None

    source = Source.MEMORY

    @property
    def score(self) -> float:
        """Return what the results are ordered by."""
        return _last_score(self.reranked, self.fused, self.similarity)


Result = DocumentResult | MemoryResult


def _last_score(*scores: float | None) -> float:
    """Return the score of the last step that gave one, the last step first."""
    return next((score for score in scores if score is not None), 0.0)


def represent_result(result: Result) -> dict[str, Any]:
    """Return a ``KnowledgeResult``; a document result leaves out what it has no value for."""
    record = _document(result) if isinstance(result, DocumentResult) else _memory(result)
    if result.similarity is not None or result.fused is not None:
        record["score"] = clamp_score(result.score)
    if result.similarity is not None:
        record["similarity_score"] = clamp_score(result.similarity)
    if ranks := _ranks(result):
        record["ranks"] = ranks
    return record


def _ranks(result: Result) -> dict[str, int]:
    """Return which legs found the row, at which ranks, and the place that a reranker gave it."""
    ranks = {"rerank": result.rerank_place}
    if result.legs is not None:
        ranks |= {"cosine": result.legs.cosine_rank, "words": result.legs.words_rank}
    return {name: rank for name, rank in ranks.items() if rank is not None}


def _document(result: DocumentResult) -> dict[str, Any]:
    record: dict[str, Any] = {
        "source_type": result.source,
        "document_id": result.document_id,
        "chunk_id": result.id,
        "page": result.page,
        "file_id": result.file_id,
        "project_id": result.project_id,
        "path": result.path,
        "filename": result.filename,
        "size": result.size,
        "title": result.title,
        "metadata": result.metadata,
        "tags": result.tags,
        "content": result.content,
        "created_at": wire_time(result.created_at),
        "updated_at": wire_time(result.created_at),
    }
    return {name: value for name, value in record.items() if value is not None}


def _memory(result: MemoryResult) -> dict[str, Any]:
    return {
        "source_type": result.source,
        "entry_id": result.id,
        "memory_id": result.memory_id,
        "memory_name": result.memory_name,
        "content": result.content,
        "tags": result.tags or None,
        "created_at": wire_time(result.created_at),
        "updated_at": wire_time(result.updated_at),
    }
