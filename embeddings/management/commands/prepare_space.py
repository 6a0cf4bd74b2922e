"""Register the configured vector space and build the indexes that it misses."""

from typing import Any

from django.core.management.base import BaseCommand

from embeddings.indexes import build_index, missing_indexes
from embeddings.progress import Progress, progress_line
from embeddings.spaces import replace_empty_space, space_status

_STEP = 0.1


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
            progress = _Shown(self)
            build_index(model, status.space, progress if options["verbosity"] else None)
            progress.end()


class _Shown:
    """Shows progress: a bar that is drawn anew on a terminal, elsewhere a line for each tenth and phase."""

    def __init__(self, command: BaseCommand) -> None:
        self._stdout = command.stdout
        self._is_live = command.stdout.isatty()
        self._said: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        said = self._said
        if self._is_live:
            # What is left of a longer line before is cleared to its end.
            self._stdout.write(f"\r  {progress_line(progress)}\x1b[K", ending="")
            self._stdout.flush()
        elif said is not None and said.phase == progress.phase and progress.part < said.part + _STEP:
            return
        else:
            self._stdout.write(f"  {progress_line(progress)}")
        self._said = progress

    def end(self) -> None:
        """Leave the line of the bar."""
        if self._is_live and self._said is not None:
            self._stdout.write("")
