"""Celery tasks of the tenancy app."""

from celery import shared_task

from soat.tenancy import throttles
from soat.tenancy.deletion import TASK_SECONDS, purge_marked, purge_project


@shared_task(name="soat.tenancy.tasks.purge")
def purge(project_id: int) -> None:
    """Delete what stands in a project that is marked as deleted, then the project."""
    purge_project(project_id, seconds=TASK_SECONDS)


@shared_task(name="soat.tenancy.tasks.purge_left")
def purge_left() -> None:
    """Go on with deletions that were cut off, or whose message was lost."""
    purge_marked(seconds=TASK_SECONDS)


@shared_task(name="soat.tenancy.tasks.forget_attempts")
def forget_attempts() -> None:
    """Forget failed logins of long ago."""
    throttles.forget_attempts()
