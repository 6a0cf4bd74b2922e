"""Numbers that no process counts: what lies in the database and in the broker, read when somebody asks.

Every question is bounded in time, and an answer that cannot be had leaves its numbers out and says so
in ``soat_state_readable``: it never fails the whole.
"""

import logging
import threading
import time
from collections.abc import Iterable, Iterator

from django.db import Error as DatabaseError
from django.db import connection, transaction
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from documents.models import AttemptState, DocumentStatus
from soat.operations.queues import BROKER_FAILURES, last_runs, read_queues

logger = logging.getLogger(__name__)

STATEMENT_MILLISECONDS = 2_000
KEPT_SECONDS = 5.0
"""How long an answer is given again, so that several readers cost no more than one."""

_DOCUMENTS = "SELECT status, count(*) FROM documents_document GROUP BY status"
_ATTEMPTS = """
SELECT state, count(*), extract(epoch FROM now() - min(coalesce(claimed_at, created_at)))
FROM documents_ingestionattempt WHERE state IN ('queued', 'processing') GROUP BY state
"""
_WAITING = {
    "document_chunks": "SELECT count(*) FROM documents_documentchunk WHERE awaits_vector",
    "memory_entries": "SELECT count(*) FROM memories_memoryentry WHERE awaits_vector",
}

_lock = threading.Lock()
_kept: tuple[float, bytes] | None = None


def state_exposition() -> bytes:
    """Return the numbers in Prometheus' text format, at most ``KEPT_SECONDS`` old."""
    global _kept  # noqa: PLW0603  (one answer for the threads of a process)
    with _lock:
        if _kept is None or time.monotonic() - _kept[0] > KEPT_SECONDS:
            registry = CollectorRegistry()
            registry.register(_State())
            _kept = (time.monotonic(), generate_latest(registry))
        return _kept[1]


def forget() -> None:
    """Ask anew the next time."""
    global _kept  # noqa: PLW0603
    _kept = None


class _State(Collector):
    def collect(self) -> Iterable[Metric]:
        readable = GaugeMetricFamily(
            "soat_state_readable", "Whether the numbers of a source could be read.", labels=["source"]
        )
        for source, read, failures in (
            ("database", _from_database, (DatabaseError,)),
            ("broker", _from_broker, BROKER_FAILURES),
        ):
            try:
                metrics = list(read())
            except failures as error:
                logger.warning("The metrics of the %s cannot be read: %s", source, error)
                readable.add_metric([source], 0)
            else:
                readable.add_metric([source], 1)
                yield from metrics
        yield readable

    def describe(self) -> Iterable[Metric]:
        """Return nothing: asked for its names, the collector would read everything once more."""
        return []


def _from_database() -> Iterator[Metric]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {STATEMENT_MILLISECONDS:d}")
        cursor.execute(_DOCUMENTS)
        documents = dict(cursor.fetchall())
        cursor.execute(_ATTEMPTS)
        attempts = {state: (count, float(age)) for state, count, age in cursor.fetchall()}
        waiting = {}
        for rows, sql in _WAITING.items():
            cursor.execute(sql)
            waiting[rows] = cursor.fetchone()[0]
    yield _family("soat_documents", "Documents, by status.", "status", {s: documents.get(s, 0) for s in DocumentStatus})
    states = (AttemptState.QUEUED, AttemptState.PROCESSING)
    yield _family(
        "soat_ingestion_attempts_open",
        "Attempts that wait for a worker or have one, by state.",
        "state",
        {state: attempts.get(state, (0, 0.0))[0] for state in states},
    )
    yield _family(
        "soat_ingestion_attempts_oldest_seconds",
        "For how long the oldest open attempt has been in its state, 0 without one.",
        "state",
        {state: attempts.get(state, (0, 0.0))[1] for state in states},
    )
    yield _family("soat_rows_waiting_for_vectors", "Rows that have no vector yet, by kind of row.", "rows", waiting)


def _from_broker() -> Iterator[Metric]:
    queues, runs = read_queues(), last_runs()
    yield _family("soat_queue_messages", "Messages that wait, by queue.", "queue", {q.name: q.length for q in queues})
    ages = {queue.name: queue.oldest_seconds or 0.0 for queue in queues}
    yield _family(
        "soat_queue_oldest_message_seconds", "For how long the oldest message has waited, by queue.", "queue", ages
    )
    yield _family(
        "soat_periodic_task_last_run_timestamp_seconds",
        "When a task that beat sends last began on a worker.",
        "task",
        runs,
    )


def _family(name: str, meaning: str, label: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for value, number in values.items():
        family.add_metric([str(value)], number)
    return family
