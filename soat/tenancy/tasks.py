"""Celery tasks of the tenancy app."""

from celery import shared_task

from soat.tenancy import throttles
from soat.tenancy.deletion import projects_to_purge, purge_project


@shared_task(name="soat.tenancy.tasks.purge")
def purge(project_id: int) -> None:
    """Delete what stands in a project that is marked as deleted, then the project."""
    purge_project(project_id)


@shared_task(name="soat.tenancy.tasks.purge_left")
def purge_left() -> None:
    """Go on with deletions that were cut off, or whose message was lost."""
    for project_id in projects_to_purge():
        purge_project(project_id)


@shared_task(name="soat.tenancy.tasks.forget_attempts")
def forget_attempts() -> None:
    """Forget failed logins of long ago."""
    throttles.forget_attempts()
