"""The reading vocabulary of memories and entries, and the shortlist of a write."""

from dataclasses import dataclass

from django.db import connection
from django.db.models import F, Func, QuerySet, Value
from django.db.models.fields import BooleanField

from embeddings.models import EmbeddingSpace
from embeddings.port import Vector
from embeddings.sql import vector_literal
from memories.models import PLACE_OF_ENTRIES, Memory, MemoryEntry
from soat.engine.dedup import SHORTLIST_SIZE, Candidate
from soat.engine.match import tag_glob_like
from soat.engine.vectors import similarity_from_distance
from soat.tenancy.access import Access, Reach

NO_MEMORY = "There is no such memory."


class TagsMatch(Func):
    """True when any tag of the array column matches one of the ``ILIKE`` patterns."""

    template = "EXISTS (SELECT 1 FROM unnest(%(expressions)s))"
    arg_joiner = ") AS tag WHERE tag ILIKE ANY ("
    output_field = BooleanField()

    def __init__(self, field: str, globs: list[str]) -> None:
        super().__init__(F(field), Value([tag_glob_like(glob) for glob in globs]))


def listed_memories(reach: Reach, tags: list[str]) -> QuerySet[Memory]:
    """Return the memories within reach, newest first; with ``tags`` those of which a tag matches one of the globs."""
    rows = reach.of(Memory).filter(Memory.objects.select_related("project").order_by("-created_at", "-id"))
    return rows.filter(TagsMatch("tags", tags)) if tags else rows


def readable_memory(access: Access, public_id: str) -> Memory:
    """Return a memory for the action of ``access``. Raises ``NotFound`` and ``Forbidden``."""
    return access.get(Memory.objects.select_related("project"), public_id, NO_MEMORY)


def memory_for_entries(access: Access, public_id: str) -> Memory:
    """Return a memory for an action on its entries; each of these is asked about by itself. Raises ``NotFound``."""
    rows = Memory.objects.select_related("project")
    return access.find(rows, public_id, NO_MEMORY, kind=PLACE_OF_ENTRIES)


def readable_entry(access: Access, public_id: str) -> MemoryEntry:
    """Return an entry, also an invalidated one, for the action of ``access``.

    Raises ``NotFound`` and ``Forbidden``.
    """
    return access.get(
        MemoryEntry.objects.select_related("memory", "superseded_by"), public_id, "There is no such entry."
    )


def listed_entries(access: Access, memory: Memory, *, include_invalidated: bool) -> QuerySet[MemoryEntry]:
    """Return the entries of a memory on which the action is allowed, oldest first."""
    rows = access.rows(MemoryEntry.objects.filter(memory=memory).select_related("memory", "superseded_by"))
    rows = rows.order_by("created_at", "id")
    return rows if include_invalidated else rows.filter(invalidated_at=None)


@dataclass(frozen=True, slots=True)
class Probe:
    """An incoming fact as the shortlist looks for it; without ``space`` and ``windows`` only by its hash.

    ``access`` is the writer's: an entry that it may not read is not found, so that no answer can speak of it.
    None finds all.
    """

    content_hash: bytes
    space: EmbeddingSpace | None
    windows: tuple[Vector, ...]
    access: Access | None = None


_NEAREST = """
WITH covered AS (
    SELECT v.entry_id, part.number, min(v.embedding <=> part.vector) AS distance
    FROM memories_memoryentry e
    JOIN memories_entryvector v ON v.entry_id = e.id
    CROSS JOIN unnest(%(windows)s::vector[]) WITH ORDINALITY AS part (vector, number)
    WHERE e.memory_id = %(memory)s AND e.invalidated_at IS NULL AND e.revision > %(since)s
      AND v.memory_id = %(memory)s AND v.space_id = %(space)s AND e.id <> ALL(%(hidden)s)
    GROUP BY v.entry_id, part.number
), scored AS (
    SELECT entry_id, max(distance) AS distance FROM covered GROUP BY entry_id ORDER BY 2, 1 LIMIT %(limit)s
)
SELECT e.id, e.content, e.content_hash = %(hash)s, s.distance
FROM scored s JOIN memories_memoryentry e ON e.id = s.entry_id
ORDER BY s.distance, e.id
"""


def shortlist(memory: Memory, probe: Probe, *, since: int = -1) -> list[Candidate]:
    """Return the valid entries of a memory that a fact may restate.

    The nearest by cosine and those of equal text, with or without a vector. A long fact is as similar
    to an entry as the window of it that the entry covers least: one part in common makes no duplicate.
    ``since`` leaves out what has not changed after that revision of the memory.
    """
    hidden = _hidden_entries(memory, probe.access)
    found = {candidate.key: candidate for candidate in _nearest(memory.pk, probe, since, hidden)}
    equal = MemoryEntry.objects.filter(
        memory=memory, content_hash=probe.content_hash, invalidated_at=None, revision__gt=since
    ).exclude(pk__in=hidden)
    equal = equal.order_by("created_at", "id")
    for key, text in equal.values_list("pk", "content")[:SHORTLIST_SIZE]:
        found.setdefault(key, Candidate(key, text, None, same_text=True))
    return list(found.values())


def _hidden_entries(memory: Memory, access: Access | None) -> list[int]:
    """Return the keys of the entries that the writer may not read: few policies leave any out."""
    if access is None:
        return []
    rows = access.hidden(MemoryEntry.objects.filter(memory=memory), memory.project_id)
    return list(rows.values_list("pk", flat=True))


def _nearest(memory_id: int, probe: Probe, since: int, hidden: list[int]) -> list[Candidate]:
    if probe.space is None or not probe.windows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            _NEAREST,
            {
                "hash": probe.content_hash,
                "windows": [vector_literal(window) for window in probe.windows],
                "memory": memory_id,
                "space": probe.space.pk,
                "since": since,
                "hidden": hidden,
                "limit": SHORTLIST_SIZE,
            },
        )
        return [
            Candidate(key, text, similarity_from_distance(distance), same_text=equal)
            for key, text, equal, distance in cursor.fetchall()
        ]
