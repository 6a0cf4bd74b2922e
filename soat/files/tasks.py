"""Celery tasks of the files app."""

from celery import shared_task

from soat.files import services


@shared_task(name="soat.files.tasks.discard_released")
def discard_released() -> None:
    """Delete bytes that were given up while the storage failed."""
    services.discard_released()
