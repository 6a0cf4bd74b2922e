"""Celery tasks of the memories app."""

from celery import shared_task

from memories.backfill import backfill_entries


@shared_task(name="memories.tasks.backfill")
def backfill() -> None:
    """Give entries their vectors that were stored while the provider was down."""
    backfill_entries()
