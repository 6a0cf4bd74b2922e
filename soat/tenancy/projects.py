"""Creating, renaming and deleting projects."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from soat.core.broker import publish_on_commit
from soat.tenancy.deletion import delete_empty_project, mark_project_deleted, purge_project
from soat.tenancy.models import Project
from soat.tenancy.tasks import purge


def create_project(*, name: str) -> Project:
    """Create a project."""
    return Project.objects.create(name=name)


def update_project(*, project: Project, changes: Mapping[str, Any]) -> Project:
    """Rename a project."""
    if changes:
        project.name = changes["name"]
        project.updated_at = timezone.now()
        project.save(update_fields=["name", "updated_at"])
    return project


def delete_project(*, project: Project, force: bool = False) -> None:
    """Delete a project with the keys that are bound to it.

    Raises ``Conflict`` while anything stands in it, unless ``force``: then rows and bytes go too. It is
    gone for every caller when this returns; many rows are removed afterwards, by a task.
    """
    if not force:
        delete_empty_project(project=project)
    elif mark_project_deleted(project=project):
        purge_project(project.pk)
    else:
        publish_on_commit(purge, project.pk)
