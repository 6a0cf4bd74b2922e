"""``search_knowledge``: the only retrieval function. It reads documents and memories and ranks them together."""

from dataclasses import dataclass, field
from typing import Any

from embeddings.services import QueryVector, embed_query
from knowledge.documents import read_chunks, search_chunks
from knowledge.memories import read_entries, search_entries
from knowledge.results import Result
from soat.core.errors import ValidationFailed
from soat.engine.rank import merge_ranked, merge_unranked
from soat.tenancy.access import ProjectScope


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


def search_knowledge(*, scope: ProjectScope, search: Search) -> list[Result]:
    """Return at most ``search.limit`` results of the projects in ``scope``, best first.

    With a query it is embedded once and each source gives its nearest ``limit`` rows by cosine;
    without one the rows come in reading order and carry no score. Raises ``ValidationFailed`` when
    nothing is asked for and ``ServiceUnavailable`` when the query cannot be embedded.
    """
    if not search.wants_documents and not search.wants_memories:
        raise ValidationFailed("Give at least one of query, memory_ids, memory_tags, document_paths, document_ids.")
    if not scope.everything and not scope.ids:
        return []
    if not search.query.strip():
        return _read(scope, search)
    query = embed_query(search.query)
    if query is None:
        return []
    return merge_ranked(_ranked(scope, search, query), limit=search.limit, min_score=search.min_score)


def _ranked(scope: ProjectScope, search: Search, query: QueryVector) -> list[list[Result]]:
    sources: list[list[Result]] = []
    sources.append([*search_chunks(scope, search.document_ids, search.document_paths, query, search.limit)])
    if search.wants_memories:
        sources.append([*search_entries(scope, search.memory_ids, search.memory_tags, query, search.limit)])
    return sources


def _read(scope: ProjectScope, search: Search) -> list[Result]:
    documents: list[Any] = []
    memories: list[Any] = []
    if search.wants_documents:
        documents = read_chunks(scope, search.document_ids, search.document_paths, search.limit)
    if search.wants_memories:
        memories = read_entries(scope, search.memory_ids, search.memory_tags, search.limit)
    return merge_unranked(documents, memories, limit=search.limit)
