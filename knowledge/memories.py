"""The memory side of the search: valid entries."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from embeddings.services import QueryVector
from knowledge.nearest import Filter, Source, allowed_rows, nearest
from knowledge.results import MemoryResult
from memories.models import MemoryEntry
from soat.engine.match import tag_glob_like
from soat.engine.vectors import similarity_from_distance
from soat.tenancy.access import ProjectScope

_COLUMNS = "e.public_id, m.public_id, m.name, e.content, e.tags, e.created_at, e.updated_at"
_NAMED = "ANY(ARRAY(SELECT id FROM memories_memory WHERE public_id = ANY(%(memory_ids)s)))"
_MEMORY_JOIN = "JOIN memories_memory m ON m.id = e.memory_id"
_SOURCE = Source(
    vectors="memories_entryvector",
    row_key="entry_id",
    joins=f"JOIN memories_memoryentry e ON e.id = v.entry_id {_MEMORY_JOIN}",
    tie_break='e.public_id COLLATE "C"',
    columns=f"{_COLUMNS} FROM scored s JOIN memories_memoryentry e ON e.id = s.row_id {_MEMORY_JOIN}",
)


def search_entries(
    scope: ProjectScope, memory_ids: Sequence[str], memory_tags: Sequence[str], query: QueryVector, limit: int
) -> list[MemoryResult]:
    """Return the ``limit`` valid entries nearest to the query; ids and tag globs are a union."""
    wanted = _filter(scope, memory_ids, memory_tags, project="v.project_id", memory="v.memory_id")
    return [
        _result(columns, similarity_from_distance(distance))
        for distance, *columns in nearest(_SOURCE, wanted, query, limit)
    ]


def read_entries(
    scope: ProjectScope, memory_ids: Sequence[str], memory_tags: Sequence[str], limit: int
) -> list[MemoryResult]:
    """Return the oldest valid entries first."""
    wanted = _filter(scope, memory_ids, memory_tags, project="m.project_id", memory="e.memory_id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_COLUMNS} FROM memories_memoryentry e {_MEMORY_JOIN}"
            f" WHERE {wanted.narrow} AND {wanted.where}"
            ' ORDER BY e.created_at, e.public_id COLLATE "C" LIMIT %(limit)s',
            {**wanted.parameters, "limit": limit},
        )
        return [_result(columns, None) for columns in cursor.fetchall()]


def _filter(
    scope: ProjectScope, memory_ids: Sequence[str], memory_tags: Sequence[str], *, project: str, memory: str
) -> Filter:
    """Return the conditions; ``project`` and ``memory`` are the columns that tell where a row belongs."""
    narrow = ["TRUE" if scope.everything else f"{project} = ANY(%(projects)s)"]
    where = ["e.invalidated_at IS NULL"]
    if memory_tags:
        wanted = [f"{memory} = {_NAMED}"] if memory_ids else []
        wanted.extend(
            f"EXISTS (SELECT 1 FROM unnest({tags}) AS tag WHERE tag ILIKE ANY(%(memory_tags)s))"
            for tags in ("m.tags", "e.tags")
        )
        where.append(f"({' OR '.join(wanted)})")
    else:
        # Most often one memory of a few rows among many others: those alone are then counted and scanned.
        narrow.append(f"{memory} = {_NAMED}")
    allowed, parameters = allowed_rows(scope, MemoryEntry, "e.id")
    where.append(allowed)
    return Filter(
        narrow=" AND ".join(narrow),
        where=" AND ".join(where),
        parameters={
            **parameters,
            "projects": list(scope.ids),
            "memory_ids": list(memory_ids),
            "memory_tags": [tag_glob_like(glob) for glob in memory_tags],
        },
    )


def _result(columns: Sequence[Any], similarity: float | None) -> MemoryResult:
    entry, memory, name, content, tags, created_at, updated_at = columns
    return MemoryResult(entry, memory, name, content, tags, created_at, updated_at, similarity)
