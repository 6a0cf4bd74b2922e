"""Celery tasks of the documents app: ids in, one function called."""

from celery import shared_task

from documents import pipeline, recovery
from documents.backfill import backfill_chunks
from soat.core.broker import publish_on_commit


@shared_task(name="documents.tasks.ingest")
def ingest(attempt_id: int) -> None:
    """Run one attempt."""
    pipeline.ingest(attempt_id)
    publish_on_commit(clear)


@shared_task(name="documents.tasks.sweep")
def sweep() -> None:
    """Find what stalls or was lost, and set it going again or end it."""
    for attempt_id in recovery.sweep():
        publish_on_commit(ingest, attempt_id)
    publish_on_commit(clear)


@shared_task(name="documents.tasks.clear")
def clear() -> None:
    """Delete pages and chunks that no longer count."""
    recovery.clear_retired()


@shared_task(name="documents.tasks.backfill")
def backfill() -> None:
    """Give chunks their vectors that were stored while the provider was down."""
    backfill_chunks()
