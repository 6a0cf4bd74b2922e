"""Celery tasks of the files app."""

from celery import shared_task

from soat.files import services, upload_tokens


@shared_task(name="soat.files.tasks.discard_released")
def discard_released() -> None:
    """Delete bytes that were given up while the storage failed."""
    services.discard_released()


@shared_task(name="soat.files.tasks.delete_old_tokens")
def delete_old_tokens() -> None:
    """Delete upload tokens that were over long ago."""
    upload_tokens.delete_old_tokens()
