"""Celery tasks of the tenancy app."""

from celery import shared_task

from soat.tenancy import lexeme_refresh, throttles
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


@shared_task(name="soat.tenancy.tasks.refresh_lexemes")
def refresh_lexemes(project_id: int) -> None:
    """Take the words of a project's texts anew."""
    lexeme_refresh.refresh_project(project_id, seconds=lexeme_refresh.TASK_SECONDS)


@shared_task(name="soat.tenancy.tasks.refresh_lexemes_left")
def refresh_lexemes_left() -> None:
    """Go on with projects whose words are to be taken anew: large ones, and those whose message was lost."""
    lexeme_refresh.refresh_waiting(seconds=lexeme_refresh.TASK_SECONDS)
