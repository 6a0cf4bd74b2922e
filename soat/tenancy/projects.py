"""Creating, renaming and deleting projects."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from soat.audit.services import record
from soat.core.broker import publish_on_commit
from soat.core.db import short_transaction
from soat.core.errors import NotFound
from soat.tenancy.deletion import REQUEST_SECONDS, delete_empty_project, mark_project_deleted, purge_project
from soat.tenancy.models import Project
from soat.tenancy.tasks import purge


def create_project(*, name: str) -> Project:
    """Create a project."""
    with transaction.atomic():
        project = Project.objects.create(name=name)
        record("project", project.public_id, project_id=project.pk, after={"name": name})
    return project


def update_project(*, project: Project, changes: Mapping[str, Any]) -> Project:
    """Rename a project. Raises ``NotFound`` for one that is gone, and ``ServiceUnavailable``."""
    with short_transaction():
        locked = Project.objects.select_for_update(no_key=True).filter(pk=project.pk, deleting_at=None).first()
        if locked is None:
            raise NotFound("There is no such project.")
        before = {"name": locked.name}
        if changes.get("name", locked.name) != locked.name:
            locked.name = changes["name"]
            locked.updated_at = timezone.now()
            locked.save(update_fields=["name", "updated_at"])
            record("project", locked.public_id, project_id=locked.pk, before=before, after=changes)
    return locked


def delete_project(*, project: Project, force: bool = False) -> None:
    """Delete a project with the keys that are bound to it.

    Raises ``Conflict`` while anything stands in it, unless ``force``: then rows and bytes go too. It is
    gone for every caller when this returns; many rows are removed afterwards, by a task.
    """
    if not force:
        delete_empty_project(project=project)
        return
    is_small = mark_project_deleted(project=project)
    if not (is_small and purge_project(project.pk, seconds=REQUEST_SECONDS)):
        publish_on_commit(purge, project.pk)
