"""The memory side of the search: valid entries."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from embeddings.services import QueryVector
from knowledge.explanation import Found
from knowledge.hybrid import Question, found_by_legs
from knowledge.nearest import Filter, Look, Source, Way, allowed_rows, nearest, vectors_in
from knowledge.results import MemoryResult
from knowledge.words import WordFilter, projects_asked
from memories.models import MemoryEntry
from soat.engine.fusion import Legs
from soat.engine.match import tag_glob_like
from soat.engine.vectors import similarity_from_distance
from soat.tenancy.access import ProjectScope

_COLUMNS = "e.public_id, m.public_id, m.name, e.content, e.tags, e.created_at, e.updated_at"
_NAMED = "ANY(ARRAY(SELECT id FROM memories_memory WHERE public_id = ANY(%(memory_ids)s)))"
_MEMORY_JOIN = "JOIN memories_memory m ON m.id = e.memory_id"
_SOURCE = Source(
    vectors="memories_entryvector",
    row_key="entry_id",
    row="e",
    texts="memories_memoryentry e",
    rows=f"memories_memoryentry e {_MEMORY_JOIN}",
    columns=_COLUMNS,
    shown=f"JOIN memories_memoryentry e ON e.id = s.row_id {_MEMORY_JOIN}",
)


def search_entries(
    scope: ProjectScope, memory_ids: Sequence[str], memory_tags: Sequence[str], query: QueryVector, limit: int
) -> Found[MemoryResult]:
    """Return the ``limit`` valid entries nearest to the query; ids and tag globs are a union."""
    answer = nearest(_SOURCE, _filter(scope, memory_ids, memory_tags, is_ranked=True), query, limit)
    results = [_result(columns, similarity_from_distance(distance)) for distance, *columns in answer.rows]
    return Found(results, answer.look)


def search_entries_and_words(
    scope: ProjectScope, memory_ids: Sequence[str], memory_tags: Sequence[str], question: Question, limit: int
) -> Found[MemoryResult]:
    """Return the valid entries near to the question or with its words, ``limit`` of each or more, in no order."""
    wanted = _filter(scope, memory_ids, memory_tags, is_ranked=True)
    narrow = _narrow(scope, memory_tags, project="e.project_id", memory="e.memory_id")
    worded = WordFilter(narrow, wanted.where, projects_asked(scope))
    answer = found_by_legs(_SOURCE, wanted, worded, question, limit)
    return Found([_result(columns, legs.found_cosine, legs) for legs, columns in answer.rows], answer.look)


def read_entries(
    scope: ProjectScope, memory_ids: Sequence[str], memory_tags: Sequence[str], limit: int
) -> Found[MemoryResult]:
    """Return the oldest valid entries first."""
    wanted = _filter(scope, memory_ids, memory_tags, is_ranked=False)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_COLUMNS} FROM memories_memoryentry e {_MEMORY_JOIN}"
            f" WHERE {wanted.narrow} AND {wanted.where}"
            ' ORDER BY e.created_at, e.public_id COLLATE "C" LIMIT %(limit)s',
            {**wanted.parameters, "limit": limit},
        )
        return Found([_result(columns, None) for columns in cursor.fetchall()], Look(Way.LISTED))


def _filter(scope: ProjectScope, memory_ids: Sequence[str], memory_tags: Sequence[str], *, is_ranked: bool) -> Filter:
    """Return the conditions; a ranked search narrows the vectors, which know project and memory themselves."""
    allowed, parameters = allowed_rows(scope, MemoryEntry, "e.id")
    valid = ["e.invalidated_at IS NULL"]
    selective = [allowed] if allowed != "TRUE" else []
    if memory_tags:
        selective.append(_tagged(scope, is_named=bool(memory_ids)))
    own = _narrow(scope, memory_tags, project="m.project_id", memory="e.memory_id")
    narrow = _narrow(scope, memory_tags, project="v.project_id", memory="v.memory_id") if is_ranked else own
    return Filter(
        narrow=narrow,
        where=" AND ".join([*valid, *selective]),
        sizes=f"SELECT 1 AS number FROM {_SOURCE.rows} WHERE {' AND '.join([own, *valid, *selective])}"
        if selective
        else vectors_in(_SOURCE, narrow),
        parameters={
            **parameters,
            "projects": list(scope.ids),
            "memory_ids": list(memory_ids),
            "memory_tags": [tag_glob_like(glob) for glob in memory_tags],
        },
    )


def _narrow(scope: ProjectScope, memory_tags: Sequence[str], *, project: str, memory: str) -> str:
    narrow = ["TRUE" if scope.everything else f"{project} = ANY(%(projects)s)"]
    if not memory_tags:
        # Most often one memory of a few rows among many others: those alone are then counted and scanned.
        narrow.append(f"{memory} = {_NAMED}")
    return " AND ".join(narrow)


def _tagged(scope: ProjectScope, *, is_named: bool) -> str:
    """Return the condition on tags; those of memories are matched once, and no pattern where there is no tag."""
    wanted = [f"e.memory_id = {_NAMED}"] if is_named else []
    inside = "TRUE" if scope.everything else "project_id = ANY(%(projects)s)"
    wanted.append(f"e.memory_id = ANY(ARRAY(SELECT id FROM memories_memory WHERE {inside} AND {_matches('tags')}))")
    wanted.append(_matches("e.tags"))
    return f"({' OR '.join(wanted)})"


def _matches(tags: str) -> str:
    matching = f"EXISTS (SELECT 1 FROM unnest({tags}) AS tag WHERE tag ILIKE ANY(%(memory_tags)s))"
    return f"({tags} <> '{{}}' AND {matching})"


def _result(columns: Sequence[Any], similarity: float | None, legs: Legs | None = None) -> MemoryResult:
    entry, memory, name, content, tags, created_at, updated_at = columns
    return MemoryResult(entry, memory, name, content, tags, created_at, updated_at, similarity, legs)
