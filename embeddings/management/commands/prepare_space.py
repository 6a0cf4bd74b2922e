"""Register the configured vector space and build the indexes that it misses."""

from typing import Any

from django.core.management.base import BaseCommand

from embeddings.indexes import build_index, missing_indexes
from embeddings.spaces import replace_empty_space, space_status


class Command(BaseCommand):
    """``manage.py prepare_space``: run it after ``migrate``; it can be repeated and interrupted."""

    help = "Register the configured vector space and build its HNSW indexes where they are missing."

    def handle(self, *args: Any, **options: Any) -> None:
        """Build what is missing, one index after the other, without blocking writers."""
        if replace_empty_space():
            self.stdout.write("The space of the settings replaces one that nothing was stored in.")
        status = space_status()
        self.stdout.write(status.message)
        if status.space is None:
            return
        for model in missing_indexes(status.space):
            self.stdout.write(f"Building the vector index of {model._meta.db_table} …")  # noqa: SLF001
            build_index(model, status.space)
