"""What memories and entries look like on the wire."""

from datetime import datetime
from typing import Any

from memories.models import Memory, MemoryEntry
from soat.core.models import wire_time


def represent_memory(memory: Memory) -> dict[str, Any]:
    """Return a ``Memory``; description and tags are left out where there are none."""
    record: dict[str, Any] = {
        "id": memory.public_id,
        "project_id": memory.project.public_id,
        "name": memory.name,
        "description": memory.description,
        "tags": memory.tags or None,
        "created_at": wire_time(memory.created_at),
        "updated_at": wire_time(memory.updated_at),
    }
    return {name: value for name, value in record.items() if value is not None}


def represent_entry(entry: MemoryEntry) -> dict[str, Any]:
    """Return a ``MemoryEntry``; what it has no value for is an explicit null. ``memory`` must be loaded."""
    return {
        "id": entry.public_id,
        "memory_id": entry.memory.public_id,
        "content": entry.content,
        "source_type": entry.source_type,
        "tags": entry.tags or None,
        "metadata": entry.metadata,
        "source_generation_id": entry.source_generation_id,
        "source_conversation_id": entry.source_conversation_id,
        "invalidated_at": _time_or_none(entry.invalidated_at),
        "superseded_by_entry_id": entry.superseded_by.public_id if entry.superseded_by else None,
        "version": entry.version,
        "created_at": wire_time(entry.created_at),
        "updated_at": wire_time(entry.updated_at),
    }


def _time_or_none(moment: datetime | None) -> str | None:
    return wire_time(moment) if moment else None
