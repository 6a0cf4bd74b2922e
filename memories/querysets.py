"""The reading vocabulary of memories and entries, and the shortlist of a write."""

from dataclasses import dataclass

from django.db import connection
from django.db.models import F, Func, QuerySet, Value
from django.db.models.fields import BooleanField

from embeddings.models import EmbeddingSpace
from embeddings.port import Vector
from embeddings.sql import vector_literal
from memories.models import Memory, MemoryEntry
from soat.core.errors import NotFound
from soat.engine.dedup import SHORTLIST_SIZE, Candidate
from soat.engine.match import tag_glob_like
from soat.engine.vectors import similarity_from_distance
from soat.tenancy.access import Caller, ProjectScope


class TagsMatch(Func):
    """True when any tag of the array column matches one of the ``ILIKE`` patterns."""

    template = "EXISTS (SELECT 1 FROM unnest(%(expressions)s))"
    arg_joiner = ") AS tag WHERE tag ILIKE ANY ("
    output_field = BooleanField()

    def __init__(self, field: str, globs: list[str]) -> None:
        super().__init__(F(field), Value([tag_glob_like(glob) for glob in globs]))


def listed_memories(scope: ProjectScope, tags: list[str]) -> QuerySet[Memory]:
    """Return the memories of a scope, newest first; with ``tags`` those of which a tag matches one of the globs."""
    rows = scope.filter(Memory.objects.select_related("project").order_by("-created_at", "-id"))
    return rows.filter(TagsMatch("tags", tags)) if tags else rows


def readable_memory(caller: Caller, action: str, public_id: str) -> Memory:
    """Return a memory on which the caller may do ``action``. Raises ``NotFound``."""
    rows = Memory.objects.select_related("project")
    memory = caller.projects(action).filter(rows).filter(public_id=public_id).first()
    if memory is None:
        raise NotFound("There is no such memory.")
    return memory


def readable_entry(caller: Caller, action: str, public_id: str) -> MemoryEntry:
    """Return an entry, also an invalidated one, on which the caller may do ``action``. Raises ``NotFound``."""
    rows = MemoryEntry.objects.select_related("memory", "superseded_by")
    entry = caller.projects(action).filter(rows).filter(public_id=public_id).first()
    if entry is None:
        raise NotFound("There is no such entry.")
    return entry


def listed_entries(memory: Memory, *, include_invalidated: bool) -> QuerySet[MemoryEntry]:
    """Return the entries of a memory, oldest first."""
    rows = MemoryEntry.objects.filter(memory=memory).select_related("memory", "superseded_by")
    rows = rows.order_by("created_at", "id")
    return rows if include_invalidated else rows.filter(invalidated_at=None)


@dataclass(frozen=True, slots=True)
class Probe:
    """An incoming fact as the shortlist looks for it; without ``space`` and ``windows`` only by its hash."""

    content_hash: bytes
    space: EmbeddingSpace | None
    windows: tuple[Vector, ...]


_NEAREST = """
SELECT e.id, e.content, e.content_hash = %(hash)s, min(v.embedding <=> %(vector)s::vector)
FROM memories_entryvector v JOIN memories_memoryentry e ON e.id = v.entry_id
WHERE v.memory_id = %(memory)s AND v.space_id = %(space)s
  AND e.invalidated_at IS NULL AND e.revision > %(since)s
GROUP BY e.id
ORDER BY 4, 1
LIMIT %(limit)s
"""


def shortlist(memory_id: int, probe: Probe, *, since: int = -1) -> list[Candidate]:
    """Return the valid entries of a memory that a fact may restate.

    The nearest by cosine (over all windows of both texts) and those of equal text, with or without
    a vector. ``since`` leaves out what has not changed after that revision of the memory.
    """
    found: dict[int, Candidate] = {}
    if probe.space is not None:
        for window in probe.windows:
            for candidate in _nearest(memory_id, probe, window, probe.space.pk, since):
                known = found.get(candidate.key)
                if known is None or (known.similarity or -1.0) < (candidate.similarity or -1.0):
                    found[candidate.key] = candidate
    equal = MemoryEntry.objects.filter(
        memory_id=memory_id, content_hash=probe.content_hash, invalidated_at=None, revision__gt=since
    ).order_by("created_at", "id")
    for key, text in equal.values_list("pk", "content")[:SHORTLIST_SIZE]:
        found.setdefault(key, Candidate(key, text, None, same_text=True))
    return list(found.values())


def _nearest(memory_id: int, probe: Probe, window: Vector, space_id: int, since: int) -> list[Candidate]:
    with connection.cursor() as cursor:
        cursor.execute(
            _NEAREST,
            {
                "hash": probe.content_hash,
                "vector": vector_literal(window),
                "memory": memory_id,
                "space": space_id,
                "since": since,
                "limit": SHORTLIST_SIZE,
            },
        )
        return [
            Candidate(key, text, similarity_from_distance(distance), same_text=equal)
            for key, text, equal, distance in cursor.fetchall()
        ]
