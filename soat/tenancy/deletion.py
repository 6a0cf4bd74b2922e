"""Deleting a project with all that stands in it: rows and bytes, in batches that can be taken up again."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from soat.audit.services import record
from soat.core.db import short_transaction
from soat.core.errors import Conflict, NotFound, ServiceUnavailable
from soat.tenancy.models import Project

logger = logging.getLogger(__name__)

FEW_ROWS = 200
REQUEST_SECONDS = 5.0
"""Up to so many rows a request deletes by itself, for so long; more are left to a task."""

TASK_SECONDS = 50.0
"""So long a task goes on. The next one comes within a minute, so that a large project takes one worker, not all."""

BATCH_SIZE = 20
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
    """Delete a project with the keys that are bound to it.

    Raises ``Conflict`` while anything stands in it, ``NotFound`` and ``ServiceUnavailable``.
    """
    project_id = project.pk
    with short_transaction():
        # Whoever is adding a row has to wait for this lock, and then finds no project to add it to.
        if not Project.objects.select_for_update().filter(pk=project_id, deleting_at=None).exists():
            raise NotFound("There is no such project.")
        if contents := project_contents(project):
            shown = ", ".join(f"{count:,} {name}" for name, count in contents.items())
            raise Conflict(
                f"The project is not empty: {shown}. Delete these first, or send force=true.",
                code="PROJECT_HAS_DEPENDENTS",
                meta={"dependents": contents},
            )
        _record(project, force=False)
        project.delete()
    _purge(project_id)


def mark_project_deleted(*, project: Project) -> bool:
    """Take a project away from every caller at once, and say whether few rows are left to be deleted in it."""
    with transaction.atomic():
        if Project.objects.filter(pk=project.pk, deleting_at=None).update(deleting_at=timezone.now()):
            _record(project, force=True)
    return sum(project_contents(project).values()) <= FEW_ROWS


def _record(project: Project, *, force: bool) -> None:
    """Write the line that outlives the project: it stands in none, so that it is not deleted with it."""
    record("project", project.public_id, project_id=None, before={"name": project.name, "force": force})


def purge_project(project_id: int, *, seconds: float) -> bool:
    """Delete everything that stands in a project that is marked, then the project.

    Can be interrupted anywhere and called again, also by two at once: what is gone already is passed over.
    A request that had been let in before the mark may still add a row; then the rounds go on. False when
    there is more to do: after so many ``seconds``, or while somebody holds a row.
    """
    ends = time.monotonic() + seconds
    try:
        while Project.objects.filter(pk=project_id).exclude(deleting_at=None).exists():
            if time.monotonic() >= ends:
                return False
            try:
                _purge(project_id, ends)
                Project.objects.filter(pk=project_id).delete()
            except (ProtectedError, IntegrityError):
                continue
    except ServiceUnavailable:
        logger.info("Somebody holds a row of project %d, which is to be deleted", project_id)
        return False
    _purge(project_id)  # what was written about it while it went
    return True


def _purge(project_id: int, ends: float = math.inf) -> None:
    for dependents in _in_order():
        while time.monotonic() < ends and dependents.purge(project_id, BATCH_SIZE):
            pass


def purge_marked(*, seconds: float) -> None:
    """Go on with every project that is marked, each for its share of the ``seconds``; one that fails stops no other."""
    ends = time.monotonic() + seconds
    marked = list(Project.objects.exclude(deleting_at=None).order_by("deleting_at").values_list("pk", flat=True))
    for waiting, project_id in zip(range(len(marked), 0, -1), marked, strict=True):
        try:
            purge_project(project_id, seconds=(ends - time.monotonic()) / waiting)
        except Exception:
            logger.exception("Project %d could not be deleted; it is tried again", project_id)
