"""``search_knowledge``: the only retrieval function. It reads documents and memories and ranks them together."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from django.utils import timezone

from documents.models import Document
from embeddings.services import QueryVector, embed_query
from knowledge.documents import read_chunks, search_chunks, search_chunks_and_words
from knowledge.explanation import Answer, Explanation, Found, SourceExplanation
from knowledge.hybrid import Question
from knowledge.memories import read_entries, search_entries, search_entries_and_words
from knowledge.ranking import default_ranking, fused_chunks, fused_facts
from knowledge.reranking import required_reranker, rerank_best, rerank_depth
from knowledge.results import DocumentResult, MemoryResult, Result
from memories.models import MemoryEntry
from soat.core.errors import ValidationFailed
from soat.engine.fusion import Ranking
from soat.engine.rank import Source, best_of, merge_ranked, merge_unranked
from soat.tenancy.access import ProjectScope, Reach

ResultT = TypeVar("ResultT", DocumentResult, MemoryResult)


@dataclass(frozen=True, slots=True)
class Search:
    """What is asked for. A blank ``query`` counts as none; empty tuples are filters that were not given.

    A ``ranking`` of None is the deployment's; ``rerank`` means nothing without a query.
    """

    query: str = ""
    limit: int = 10
    min_score: float | None = None
    memory_ids: tuple[str, ...] = ()
    memory_tags: tuple[str, ...] = ()
    document_paths: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = field(default=())
    ranking: Ranking | None = None
    rerank: bool = False

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

    With a query it is embedded once and each source gives its nearest ``limit`` rows by cosine, a hybrid
    ranking also those that have its words;
    without one the rows come in reading order and carry no score. Raises ``ValidationFailed`` when nothing is
    asked for, or a rerank without a reranker, and ``ServiceUnavailable`` when the query cannot be embedded.
    A rerank must be asked for without an open transaction.
    """
    return explained_search(scope=scope, search=search).results


def explained_search(*, scope: ProjectScope | Reach, search: Search) -> Answer:
    """Return what ``search_knowledge`` returns, and how it was found."""
    if not search.wants_documents and not search.wants_memories:
        raise ValidationFailed("Give at least one of query, memory_ids, memory_tags, document_paths, document_ids.")
    reranker = required_reranker() if search.rerank else None
    documents, entries = scope.of(Document), scope.of(MemoryEntry)
    if documents.is_empty and entries.is_empty:
        return Answer([], Explanation())
    if not search.query.strip():
        return _read(documents, entries, search)
    begun = time.perf_counter()
    query = embed_query(search.query)
    explanation = Explanation(embedding_ms=_milliseconds(begun))
    wide = search if reranker is None else replace(search, limit=max(search.limit, rerank_depth()))
    if (search.ranking or default_ranking()) is Ranking.HYBRID:
        ranked = _fused(documents, entries, wide, Question(search.query, query), explanation)
    elif query is None:
        return Answer([], explanation)
    else:
        ranked = _ranked(documents, entries, wide, query, explanation)
    results = merge_ranked(ranked, limit=wide.limit)
    if reranker is not None:
        results = rerank_best(reranker, search.query, results, explanation)
    return Answer(best_of(results, limit=search.limit, min_score=search.min_score), explanation)


def _ranked(
    documents: ProjectScope, entries: ProjectScope, search: Search, query: QueryVector, explanation: Explanation
) -> list[list[Result]]:
    sources: list[list[Result]] = []
    if not documents.is_empty:
        found = _timed(
            explanation,
            Source.DOCUMENT,
            lambda: search_chunks(documents, search.document_ids, search.document_paths, query, search.limit),
        )
        sources.append([*found])
    if search.wants_memories and not entries.is_empty:
        facts = _timed(
            explanation,
            Source.MEMORY,
            lambda: search_entries(entries, search.memory_ids, search.memory_tags, query, search.limit),
        )
        sources.append([*facts])
    return sources


def _fused(
    documents: ProjectScope, entries: ProjectScope, search: Search, question: Question, explanation: Explanation
) -> list[list[Result]]:
    sources: list[list[Result]] = []
    if not documents.is_empty:
        found = _timed(
            explanation,
            Source.DOCUMENT,
            lambda: search_chunks_and_words(
                documents, search.document_ids, search.document_paths, question, search.limit
            ),
        )
        sources.append([*fused_chunks(found)])
    if search.wants_memories and not entries.is_empty:
        facts = _timed(
            explanation,
            Source.MEMORY,
            lambda: search_entries_and_words(entries, search.memory_ids, search.memory_tags, question, search.limit),
        )
        sources.append([*fused_facts(facts, now=timezone.now())])
    return sources


def _read(documents: ProjectScope, entries: ProjectScope, search: Search) -> Answer:
    chunks: list[DocumentResult] = []
    facts: list[MemoryResult] = []
    explanation = Explanation()
    if search.wants_documents:
        chunks = _timed(
            explanation,
            Source.DOCUMENT,
            lambda: read_chunks(documents, search.document_ids, search.document_paths, search.limit),
        )
    if search.wants_memories:
        facts = _timed(
            explanation,
            Source.MEMORY,
            lambda: read_entries(entries, search.memory_ids, search.memory_tags, search.limit),
        )
    return Answer(merge_unranked(chunks, facts, limit=search.limit), explanation)


def _timed(explanation: Explanation, source: Source, find: Callable[[], Found[ResultT]]) -> list[ResultT]:
    """Return what ``find`` finds, and note how and how long."""
    begun = time.perf_counter()
    found = find()
    explanation.sources.append(SourceExplanation(source, found.look, _milliseconds(begun)))
    return found.results


def _milliseconds(begun: float) -> float:
    return (time.perf_counter() - begun) * 1_000
