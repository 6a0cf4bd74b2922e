"""Vectors for entries that were stored without one."""

from collections.abc import Sequence

from embeddings.backfill import Filled, Waiting, fill
from embeddings.models import EmbeddingSpace
from memories.models import MemoryEntry
from memories.rows import insert_vectors, lock_memory, next_revision
from soat.core.db import short_transaction
from soat.core.errors import NotFound, ServiceUnavailable


def backfill_entries() -> int:
    """Give waiting entries their vectors; return how many wait no more."""
    return fill(_find, _store)


def _find(after: int, number: int) -> list[Waiting]:
    rows = MemoryEntry.objects.filter(awaits_vector=True, pk__gt=after).order_by("pk")
    return [Waiting(key, text) for key, text in rows.values_list("pk", "content")[:number]]


def _store(space: EmbeddingSpace, filled: Sequence[Filled]) -> int:
    return sum(_store_one(space, row) for row in filled)


def _store_one(space: EmbeddingSpace, row: Filled) -> bool:
    """Store one entry's vectors under its memory's lock, as every change of an entry is.

    The entry counts as changed, so that a write which is being decided looks at it again.
    """
    try:
        with short_transaction():
            entry = MemoryEntry.objects.filter(pk=row.waiting.key).first()
            if entry is None:
                return False
            memory = lock_memory(entry.memory_id)
            waiting = MemoryEntry.objects.filter(pk=entry.pk, awaits_vector=True, content=row.waiting.text)
            if not waiting.exists():
                return False
            waiting.update(awaits_vector=False, revision=next_revision(memory))
            insert_vectors(entry, space, row.embedded.windows)
            return True
    except (NotFound, ServiceUnavailable):
        return False
