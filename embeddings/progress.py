"""How far a build of an index is, as the database tells it to another connection."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import Error as DatabaseError
from django.db import connection

POLL_SECONDS = 0.5
_BAR = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """The phase in PostgreSQL's words, and the part of its blocks that is done, from 0 to 1."""

    phase: str
    part: float


Report = Callable[[Progress], None]


@contextmanager
def reported(table: str, report: Report | None) -> Iterator[None]:
    """Call ``report`` from a thread of its own, again and again, while the block builds an index of ``table``."""
    if report is None:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(table, report, ended), name="index-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(table: str, report: Report, ended: threading.Event) -> None:
    try:
        while not ended.wait(POLL_SECONDS):
            progress = build_progress(table)
            if progress is not None:
                report(progress)
    except DatabaseError:
        return  # the build itself says what is wrong with the database
    finally:
        connection.close()


def build_progress(table: str) -> Progress | None:
    """Return how far the build of an index of ``table`` is, None when none is under way."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT phase, blocks_done, blocks_total FROM pg_stat_progress_create_index"
            " WHERE datname = current_database() AND relid = %s::regclass",
            [table],
        )
        row = cursor.fetchone()
    return None if row is None else Progress(row[0], row[1] / row[2] if row[2] else 0.0)


def progress_line(progress: Progress) -> str:
    """Return a bar, the percentage and the phase."""
    filled = round(_BAR * progress.part)
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {progress.part:4.0%} {progress.phase}"
