"""Deleting a project with all that stands in it: rows and bytes, in batches that can be taken up again."""

from collections.abc import Callable
from dataclasses import dataclass

from django.db import IntegrityError
from django.db.models import ProtectedError
from django.utils import timezone

from soat.core.errors import Conflict
from soat.tenancy.models import Project

FEW_ROWS = 200
"""Up to this many rows a request deletes by itself; more are left to a task."""

BATCH_SIZE = 100
COUNTED_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Dependents:
    """The rows of one app that stand in projects.

    ``count`` takes a project's key and a bound at which counting ends. ``purge`` deletes at most so many of
    them, with their bytes, and returns how many it found; each batch is a transaction of its own. What does
    not ``keep`` a project is no reason to refuse its deletion.
    """

    name: str
    count: Callable[[int, int], int]
    purge: Callable[[int, int], int]
    keeps: bool = True


_registered: dict[str, tuple[int, Dependents]] = {}


def register_dependents(order: int, dependents: Dependents) -> None:
    """Make an app's rows go with their project; a lower ``order`` goes first. Called when apps are ready."""
    _registered[dependents.name] = (order, dependents)


def _in_order() -> list[Dependents]:
    return [dependents for _, dependents in sorted(_registered.values(), key=lambda item: (item[0], item[1].name))]


def project_contents(project: Project) -> dict[str, int]:
    """Return how many rows of which kinds stand in a project, such as ``{"memories": 2}``; 10,001 means more."""
    keeping = [dependents for dependents in _in_order() if dependents.keeps]
    counted = {dependents.name: dependents.count(project.pk, COUNTED_ROWS + 1) for dependents in keeping}
    return {name: count for name, count in counted.items() if count}


def delete_empty_project(*, project: Project) -> None:
    """Delete a project with the keys that are bound to it. Raises ``Conflict`` while anything stands in it."""
    contents = project_contents(project)
    if not contents:
        try:
            project_id = project.pk
            project.delete()
            _purge(project_id)
            return
        except (ProtectedError, IntegrityError):  # something has just come in
            contents = project_contents(project)
    raise Conflict(
        f"The project is not empty: {', '.join(f'{count:,} {name}' for name, count in contents.items())}."
        " Delete these first, or send force=true.",
        code="PROJECT_HAS_DEPENDENTS",
        meta={"dependents": contents},
    )


def mark_project_deleted(*, project: Project) -> bool:
    """Take a project away from every caller at once, and say whether few rows are left to be deleted in it."""
    Project.objects.filter(pk=project.pk, deleting_at=None).update(deleting_at=timezone.now())
    return sum(project_contents(project).values()) <= FEW_ROWS


def purge_project(project_id: int) -> None:
    """Delete everything that stands in a project that is marked, then the project.

    Can be interrupted anywhere and called again, also by two at once: what is gone already is passed over.
    A request that had been let in before the mark may still add a row; then the rounds go on.
    """
    while Project.objects.filter(pk=project_id).exclude(deleting_at=None).exists():
        _purge(project_id)
        try:
            Project.objects.filter(pk=project_id).delete()
        except (ProtectedError, IntegrityError):
            continue
    _purge(project_id)  # what was written about it while it went


def _purge(project_id: int) -> None:
    for dependents in _in_order():
        while dependents.purge(project_id, BATCH_SIZE):
            pass


def projects_to_purge() -> list[int]:
    """Return the keys of the projects that are marked and still there."""
    return list(Project.objects.exclude(deleting_at=None).order_by("deleting_at").values_list("pk", flat=True))
