"""Ranking of search results: total orders, so that equal questions get equal answers."""

import heapq
import math
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Protocol, TypeVar

DEFAULT_LIMIT = 10
MAX_LIMIT = 1000


class Source(StrEnum):
    """Where a result comes from, as the wire says it."""

    DOCUMENT = "document"
    MEMORY = "memory"


class Hit(Protocol):
    """A scored row: ``score`` on the scale of its ranking (raw cosine by default), ``id`` unique in its source."""

    @property
    def source(self) -> Source: ...
    @property
    def id(self) -> str: ...
    @property
    def score(self) -> float: ...


class DocumentRow(Protocol):
    """A chunk that is read without a query; ``path`` is ``None`` for a document that has none."""

    @property
    def id(self) -> str: ...
    @property
    def document_id(self) -> str: ...
    @property
    def path(self) -> str | None: ...
    @property
    def chunk_index(self) -> int: ...


class MemoryRow(Protocol):
    """A memory entry that is read without a query."""

    @property
    def id(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...


H = TypeVar("H", bound=Hit)
D = TypeVar("D", bound=DocumentRow)
M = TypeVar("M", bound=MemoryRow)


class LimitRefused(ValueError):
    """A limit below 1."""


def effective_limit(limit: int | None) -> int:
    """Return how many results a search gives: 10 when not said, at most 1,000. Raises ``LimitRefused`` below 1."""
    if limit is None:
        return DEFAULT_LIMIT
    if limit < 1:
        raise LimitRefused("limit must be at least 1")
    return min(limit, MAX_LIMIT)


def merge_ranked(sources: Iterable[Iterable[H]], *, limit: int) -> list[H]:
    """Merge the sources' results into one list, best score first, ties by source and id.

    A NaN score matches nothing and is left out.
    """
    kept = (hit for hits in sources for hit in hits if not math.isnan(hit.score))
    return heapq.nsmallest(limit, kept, key=_ranked_key)


def _ranked_key(hit: Hit) -> tuple[float, str, str]:
    return -hit.score, hit.source.value, hit.id


def best_of(hits: Iterable[H], *, limit: int, min_score: float | None = None) -> list[H]:
    """Return the first ``limit`` of an ordered list that reach ``min_score``.

    ``min_score`` filters on the raw ``score`` after each source's own top k, so it shrinks the result
    and never searches deeper.
    """
    return list(islice((hit for hit in hits if min_score is None or hit.score >= min_score), limit))


def merge_unranked(documents: Iterable[D], memories: Iterable[M], *, limit: int) -> list[D | M]:
    """Return the reading order without a query: documents by path and chunk, then memories oldest first.

    Paths compare by code point (``COLLATE "C"`` in SQL); documents without a path follow the others,
    each in one piece. Cut to ``limit``.
    """
    merged: list[D | M] = [*sorted(documents, key=_document_key), *sorted(memories, key=_memory_key)]
    return merged[:limit]


def _document_key(row: DocumentRow) -> tuple[bool, str, str, int, str]:
    return row.path is None, row.path or "", row.document_id, row.chunk_index, row.id


def _memory_key(row: MemoryRow) -> tuple[datetime, str]:
    return row.created_at, row.id
