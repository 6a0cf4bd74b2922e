"""Celery tasks of the audit app."""

from celery import shared_task

from soat.audit import services


@shared_task(name="soat.audit.tasks.delete_expired")
def delete_expired() -> None:
    """Delete lines that are older than they have to be."""
    services.delete_expired()
