"""What works behind the web server: broker, workers, beat, and whether their work gets done."""

import time
from collections.abc import Iterator

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from documents.models import AttemptState, IngestionAttempt
from soat.celery import app
from soat.operations.doctor.findings import Finding, fine, note, wrong
from soat.operations.queues import BROKER_FAILURES, last_runs, periodic_tasks, queue_names, read_queues

PING_SECONDS = 1.5
MISSED_RUNS = 3
SHORTEST_SILENCE_SECONDS = 60.0
LONG_WAIT_SECONDS = 300.0
ORPHANED_SECONDS = 60.0
LATE_VECTOR_SECONDS = 3_600.0

_WAITING = """
SELECT count(*), coalesce(extract(epoch FROM now() - min(since)), 0) FROM (
    SELECT created_at AS since FROM documents_documentchunk WHERE awaits_vector
    UNION ALL SELECT updated_at FROM memories_memoryentry WHERE awaits_vector
) AS waiting
"""


def check_background() -> Iterator[Finding]:
    """Ask the broker, through it the workers, and look when the periodic tasks last ran."""
    try:
        queues, runs = read_queues(), last_runs()
        workers = _workers()
    except BROKER_FAILURES as error:
        address = app.connection_for_read().as_uri()  # without its password
        yield wrong(
            "broker",
            f"The broker at {address} does not answer: {str(error).rstrip('.')}.",
            why="Documents are taken in and not read: no worker learns of them.",
            mend="start Redis or Valkey, and check CELERY_BROKER_URL.",
        )
        return
    yield fine("broker", ", ".join(f"{queue.length} messages in {queue.name}" for queue in queues))
    yield from _check_workers(workers)
    yield from _check_beat(runs, has_workers=bool(workers))


def _workers() -> dict[str, set[str]]:
    """Return the queues that each worker which answers takes tasks from."""
    answers = app.control.inspect(timeout=PING_SECONDS).active_queues() or {}
    return {node: {str(queue["name"]) for queue in queues} for node, queues in answers.items()}


def _check_workers(workers: dict[str, set[str]]) -> Iterator[Finding]:
    command = f"celery -A soat.celery worker --queues {','.join(queue_names())}"
    if not workers:
        yield wrong(
            "workers",
            "No worker answers.",
            why="Documents stay pending, and nothing is swept or filled in later.",
            mend=f"start one: {command}",
        )
        return
    for queue in queue_names():
        takers = sum(queue in queues for queues in workers.values())
        if takers:
            yield fine("workers", f"{takers} on the queue {queue}")
        else:
            yield wrong(
                "workers",
                f"No worker takes tasks from the queue {queue}.",
                why="What is sent there waits for ever.",
                mend=f"start one that does: {command}",
            )


def _check_beat(runs: dict[str, float], *, has_workers: bool) -> Iterator[Finding]:
    if not has_workers:
        return  # what beat sends is noted by the worker that gets it
    intervals = periodic_tasks()
    late = []
    for task, moment in runs.items():
        silence = time.time() - moment
        if silence > max(MISSED_RUNS * intervals[task], SHORTEST_SILENCE_SECONDS):
            late.append(f"{task} last ran {silence:.0f} seconds ago")
    if not runs:
        late = [f"{task} has never run" for task in intervals]  # beat sends each only after its first interval
    if late:
        yield wrong(
            "beat",
            f"Periodic tasks do not run: {', '.join(late)}.",
            why="Runs whose worker died are not taken up again, and lost messages not sent again.",
            mend="start beat, exactly one in the whole deployment: celery -A soat.celery beat",
        )
    else:
        yield fine("beat", f"{len(runs)} of {len(intervals)} periodic tasks have run, none is late")


def check_work() -> Iterator[Finding]:
    """Look for work that does not get done."""
    now = timezone.now()
    attempts = IngestionAttempt.objects.filter(state=AttemptState.PROCESSING)
    ages = [
        (now - expired).total_seconds() for expired in attempts.values_list("lease_expires_at", flat=True) if expired
    ]
    orphans = [age for age in ages if age > ORPHANED_SECONDS]
    if orphans:
        yield wrong(
            "ingestion",
            f"{len(orphans)} runs lost their worker, the first {max(orphans):.0f} seconds ago,"
            " and nobody took them up.",
            why="Their documents stay as they are, half read.",
            mend="start beat and a worker: the sweep queues such runs again every "
            f"{settings.SWEEP_INTERVAL_SECONDS} seconds.",
        )
    else:
        yield fine("ingestion", f"{len(ages)} runs under way, none without its worker")
    queued = IngestionAttempt.objects.filter(state=AttemptState.QUEUED).order_by("created_at")
    oldest = queued.values_list("created_at", flat=True).first()
    if oldest is not None and (wait := (now - oldest).total_seconds()) > LONG_WAIT_SECONDS:
        yield note(
            "ingestion",
            f"{queued.count()} documents wait for a worker, the first for {wait:.0f} seconds.",
            why="They cannot be found yet.",
            mend="start more workers for the queue ingestion (docker compose up --scale worker=4).",
        )
    yield from _check_waiting_rows()


def _check_waiting_rows() -> Iterator[Finding]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '10s'")
        cursor.execute(_WAITING)
        number, age = cursor.fetchone()
    if not number:
        yield fine("vectors", "no row waits for one")
        return
    report = wrong if age > LATE_VECTOR_SECONDS else note
    yield report(
        "vectors",
        f"{number} rows have no vector yet, the first for {float(age):.0f} seconds.",
        why="They are not found by meaning.",
        mend="nothing, if the embedder answers: workers fill them in by and by. Else see there.",
    )
