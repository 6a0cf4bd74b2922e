"""``search_knowledge``: the only retrieval function. It reads documents and memories and ranks them together."""

from dataclasses import dataclass, field
from typing import Any

from documents.models import Document
from embeddings.services import QueryVector, embed_query
from knowledge.documents import read_chunks, search_chunks
from knowledge.memories import read_entries, search_entries
from knowledge.results import Result
from memories.models import MemoryEntry
from soat.core.errors import ValidationFailed
from soat.engine.rank import merge_ranked, merge_unranked
from soat.tenancy.access import ProjectScope, Reach


@dataclass(frozen=True, slots=True)
class Search:
    """What is asked for. A blank ``query`` counts as none; empty tuples are filters that were not given."""

    query: str = ""
    limit: int = 10
    min_score: float | None = None
    memory_ids: tuple[str, ...] = ()
    memory_tags: tuple[str, ...] = ()
    document_paths: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = field(default=())

    @property
    def wants_documents(self) -> bool:
        """Tell whether documents are searched: with a query, or a filter of theirs."""
        return bool(self.query.strip() or self.document_paths or self.document_ids)

    @property
    def wants_memories(self) -> bool:
        """Tell whether memories are searched: only when they are named."""
        return bool(self.memory_ids or self.memory_tags)


def search_knowledge(*, scope: ProjectScope | Reach, search: Search) -> list[Result]:
    """Return at most ``search.limit`` results within ``scope``, best first.

    With a query it is embedded once and each source gives its nearest ``limit`` rows by cosine;
    without one the rows come in reading order and carry no score. Raises ``ValidationFailed`` when
    nothing is asked for and ``ServiceUnavailable`` when the query cannot be embedded.
    """
    if not search.wants_documents and not search.wants_memories:
        raise ValidationFailed("Give at least one of query, memory_ids, memory_tags, document_paths, document_ids.")
    documents, entries = scope.of(Document), scope.of(MemoryEntry)
    if documents.is_empty and entries.is_empty:
        return []
    if not search.query.strip():
        return _read(documents, entries, search)
    query = embed_query(search.query)
    if query is None:
        return []
    return merge_ranked(_ranked(documents, entries, search, query), limit=search.limit, min_score=search.min_score)


def _ranked(documents: ProjectScope, entries: ProjectScope, search: Search, query: QueryVector) -> list[list[Result]]:
    sources: list[list[Result]] = []
    if not documents.is_empty:
        sources.append([*search_chunks(documents, search.document_ids, search.document_paths, query, search.limit)])
    if search.wants_memories and not entries.is_empty:
        sources.append([*search_entries(entries, search.memory_ids, search.memory_tags, query, search.limit)])
    return sources


def _read(documents: ProjectScope, entries: ProjectScope, search: Search) -> list[Result]:
    chunks: list[Any] = []
    facts: list[Any] = []
    if search.wants_documents:
        chunks = read_chunks(documents, search.document_ids, search.document_paths, search.limit)
    if search.wants_memories:
        facts = read_entries(entries, search.memory_ids, search.memory_tags, search.limit)
    return merge_unranked(chunks, facts, limit=search.limit)
