"""What waits in the broker, and when the periodic tasks last began."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from soat.celery import app

logger = logging.getLogger(__name__)

BROKER_FAILURES = (OSError, KombuError, RedisError)
PUBLISHED_AT = "published_at"
"""The header of a message that says when it was sent, in seconds since 1970."""

_LAST_RUNS = "soat:last-runs"


@dataclass(frozen=True, slots=True)
class Queue:
    """How many messages wait in a queue, and for how many seconds the oldest has (None: unknown or none)."""

    name: str
    length: int
    oldest_seconds: float | None


def queue_names() -> list[str]:
    """Return the queues that tasks are sent to."""
    routed = {str(route["queue"]) for route in settings.CELERY_TASK_ROUTES.values()}
    return sorted({settings.CELERY_TASK_DEFAULT_QUEUE, *routed})


def periodic_tasks() -> dict[str, float]:
    """Return the tasks that beat sends, each with its interval in seconds (several entries: the shortest)."""
    intervals: dict[str, float] = {}
    schedule: dict[str, dict[str, Any]] = settings.CELERY_BEAT_SCHEDULE
    for entry in schedule.values():
        task, when = str(entry["task"]), entry["schedule"]
        run_every: timedelta | None = getattr(when, "run_every", None)  # a crontab has none
        if run_every is not None:
            seconds = run_every.total_seconds()
            intervals[task] = min(seconds, intervals.get(task, seconds))
    return intervals


def read_queues() -> list[Queue]:
    """Return every queue as it is. Raises one of ``BROKER_FAILURES``."""
    with _client() as client:
        return [_read(client, name) for name in queue_names()]


def note_run(task: str) -> None:
    """Keep the time at which a periodic task began; a broker that does not answer is no reason to stop."""
    try:
        with _client() as client:
            client.hset(_LAST_RUNS, task, time.time())
    except BROKER_FAILURES:
        logger.warning("The broker did not take the time of the last %s", task)


def last_runs() -> dict[str, float]:
    """Return when each periodic task last began, in seconds since 1970. Raises one of ``BROKER_FAILURES``."""
    with _client() as client:
        found = {_text(task): float(moment) for task, moment in client.hgetall(_LAST_RUNS).items()}
    return {task: found[task] for task in periodic_tasks() if task in found}


@contextmanager
def _client() -> Iterator[Any]:
    with app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, interval_start=0)
        channel: Any = connection.default_channel
        yield channel.client


def _read(client: Any, name: str) -> Queue:
    # Messages are put in on the left and taken from the right.
    return Queue(name, int(client.llen(name)), _age(client.lindex(name, -1)))


def _age(message: Any) -> float | None:
    try:
        published = float(json.loads(message)["headers"][PUBLISHED_AT])
    except (TypeError, ValueError, KeyError):
        return None
    return max(0.0, time.time() - published)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
