"""The rows below a memory, written while its row is held."""

from collections.abc import Sequence

from embeddings.models import EmbeddingSpace
from embeddings.port import Vector
from memories.models import EntryVector, Memory, MemoryEntry
from soat.core.errors import NotFound


def lock_memory(memory_id: int) -> Memory:
    """Hold a memory's row to the end of the transaction. Raises ``NotFound`` for one that is gone."""
    locked = Memory.objects.select_for_update(no_key=True).filter(pk=memory_id).first()
    if locked is None:
        raise NotFound("There is no such memory.")
    return locked


def next_revision(memory: Memory) -> int:
    """Count a change of the memory, whose row the caller holds."""
    memory.revision += 1
    Memory.objects.filter(pk=memory.pk).update(revision=memory.revision)
    return memory.revision


def insert_vectors(entry: MemoryEntry, space: EmbeddingSpace | None, windows: Sequence[Vector]) -> None:
    """Store the vectors of an entry's text, one a window; without a space there is nothing to store."""
    if space is None:
        return
    EntryVector.objects.bulk_create(
        EntryVector(
            entry=entry,
            memory_id=entry.memory_id,
            project_id=entry.project_id,
            space=space,
            window=window,
            embedding=vector,
        )
        for window, vector in enumerate(windows)
    )
