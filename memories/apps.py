"""Memories, their entries and the one write funnel."""

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """The memories app."""

    name = "memories"
    label = "memories"

    def ready(self) -> None:
        """Let memories go with their project, and their words with its configuration."""
        from memories.models import MemoryEntry  # noqa: PLC0415
        from memories.services import count_memories, purge_memories  # noqa: PLC0415  (models are loaded only now)
        from soat.tenancy.deletion import Dependents, register_dependents  # noqa: PLC0415
        from soat.tenancy.lexeme_refresh import register_texts  # noqa: PLC0415

        register_dependents(10, Dependents("memories", count_memories, purge_memories))
        register_texts(MemoryEntry.objects)
