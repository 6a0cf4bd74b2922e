"""Taking the words of a project's stored texts anew, in batches that can be taken up again."""

import logging
import time
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Manager
from django.utils import timezone

from soat.core.db import short_transaction
from soat.core.errors import NotFound, ServiceUnavailable
from soat.engine.lexical import lexical_text
from soat.tenancy.models import LexemeRefresh
from soat.tenancy.text_search import held_text_search_config

logger = logging.getLogger(__name__)

TASK_SECONDS = 50.0
"""So long a task goes on. The next one comes within a minute, so that a large project takes one worker, not all."""

ROWS_PER_BATCH = 100
CHARACTERS_PER_BATCH = 1_000_000
"""A row has up to 100,000 characters; PostgreSQL takes the words of a million in about a second."""

LOCK_WAIT_MS = 200
"""Less than the second after which PostgreSQL looks for deadlocks: whoever meets a batch is not given up for it."""

_texts: dict[str, Manager[Any]] = {}

_UPDATE = """
WITH taken AS MATERIALIZED (
    SELECT id, content, to_tsvector(%(config)s::regconfig, words) AS lexemes
    FROM unnest(%(ids)s::bigint[], %(contents)s::text[], %(words)s::text[]) AS read (id, content, words)
)
UPDATE {table} AS stored SET lexemes = taken.lexemes FROM taken
WHERE stored.id = taken.id AND stored.content = taken.content AND stored.lexemes IS DISTINCT FROM taken.lexemes
"""


def register_texts(rows: Manager[Any]) -> None:
    """Have the words of an app's rows taken anew with their project. They have project, content and lexemes."""
    _texts[rows.model._meta.db_table] = rows  # noqa: SLF001  (Django's own public name)


def count_texts(project_id: int) -> int:
    """Return how many texts of a project have words."""
    return sum(rows.filter(project_id=project_id).count() for rows in _texts.values())


def request_refresh(project_id: int) -> None:
    """Note that the words of a project are to be taken anew, from the beginning."""
    request_refreshes([project_id])


def request_refreshes(project_ids: Sequence[int]) -> None:
    """Note it of several projects at once."""
    now = timezone.now()
    LexemeRefresh.objects.bulk_create(
        [LexemeRefresh(project_id=project_id, requested_at=now) for project_id in project_ids],
        update_conflicts=True,
        unique_fields=["project"],
        update_fields=["table", "after", "requested_at"],
    )


def refresh_batch(project_id: int) -> int | None:
    """Take the words of the next rows anew; return how many rows were gone through, None when nothing is left.

    Can be called by several at once and broken off anywhere. A row that somebody writes meanwhile has the
    words of its new text, and keeps them. Raises ``ServiceUnavailable`` when somebody holds a row too long.
    """
    place = LexemeRefresh.objects.filter(pk=project_id).first()
    table = next((table for table in sorted(_texts) if table >= place.table), None) if place else None
    if place is None or table is None:
        return None
    rows = _rows_after(place, table)
    ids, contents = [key for key, _ in rows], [content for _, content in rows]
    words = [lexical_text(content) for content in contents]
    try:
        with short_transaction(wait_ms=LOCK_WAIT_MS):
            config = held_text_search_config(project_id)
            if not _advance(place, table, ids):
                return 0
            with connection.cursor() as cursor:
                cursor.execute(
                    _UPDATE.format(table=connection.ops.quote_name(table)),
                    {"config": config, "ids": ids, "contents": contents, "words": words},
                )
    except NotFound:
        return None
    return len(rows)


def _rows_after(place: LexemeRefresh, table: str) -> list[tuple[int, str]]:
    after = place.after if place.table == table else 0
    texts = _texts[table].filter(project_id=place.project_id, pk__gt=after).order_by("pk")
    rows: list[tuple[int, str]] = []
    characters = 0
    for key, content in texts.values_list("pk", "content")[:ROWS_PER_BATCH]:
        characters += len(content)
        if rows and characters > CHARACTERS_PER_BATCH:
            break
        rows.append((key, content))
    return rows


def _advance(place: LexemeRefresh, table: str, ids: Sequence[int]) -> bool:
    """Move on behind ``ids``, or to the next table, or be done. False: somebody else has moved on, or begun anew."""
    standing = LexemeRefresh.objects.filter(pk=place.pk, table=place.table, after=place.after)
    if ids:
        return bool(standing.update(table=table, after=ids[-1]))
    following = next((name for name in sorted(_texts) if name > table), None)
    if following:
        return bool(standing.update(table=following, after=0))
    return bool(standing.delete()[0])


def refresh_project(project_id: int, *, seconds: float) -> None:
    """Go on with one project for so many ``seconds``; what is left then, or held by somebody, is for the next run."""
    ends = time.monotonic() + seconds
    try:
        while time.monotonic() < ends and refresh_batch(project_id) is not None:
            pass
    except ServiceUnavailable:
        logger.info("Somebody holds a row of project %d, whose words are taken anew; it is tried again", project_id)


def refresh_waiting(*, seconds: float) -> None:
    """Go on with every project that waits, each for its share of the ``seconds``; one that fails stops no other."""
    ends = time.monotonic() + seconds
    waiting = LexemeRefresh.objects.filter(project__deleting_at=None).order_by("requested_at", "pk")
    ids = list(waiting.values_list("pk", flat=True))
    for left, project_id in zip(range(len(ids), 0, -1), ids, strict=True):
        try:
            refresh_project(project_id, seconds=(ends - time.monotonic()) / left)
        except Exception:
            logger.exception("The words of project %d could not be taken anew; it is tried again", project_id)
