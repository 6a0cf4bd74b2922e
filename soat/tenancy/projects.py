"""Creating, changing and deleting projects."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from soat.audit.services import record
from soat.core.broker import publish_on_commit
from soat.core.db import short_transaction
from soat.core.errors import NotFound
from soat.tenancy.deletion import REQUEST_SECONDS, delete_empty_project, mark_project_deleted, purge_project
from soat.tenancy.lexeme_refresh import request_refresh
from soat.tenancy.models import Project
from soat.tenancy.tasks import purge, refresh_lexemes
from soat.tenancy.text_search import await_holders


def create_project(*, name: str, text_search_config: str | None = None) -> Project:
    """Create a project; without a text-search configuration of its own it has the deployment's."""
    values = {"name": name, **({"text_search_config": text_search_config} if text_search_config else {})}
    with transaction.atomic():
        project = Project.objects.create(**values)
        record("project", project.public_id, project_id=project.pk, after=values)
    return project


def update_project(*, project: Project, changes: Mapping[str, Any]) -> Project:
    """Change a project's name or text-search configuration (None: the deployment's).

    With the configuration the words of all that is stored are taken anew, by a task. Raises ``NotFound``
    for a project that is gone, and ``ServiceUnavailable``.
    """
    wanted = {name: value or "" for name, value in changes.items()}
    with short_transaction():
        locked = Project.objects.select_for_update(no_key=True).filter(pk=project.pk, deleting_at=None).first()
        if locked is None:
            raise NotFound("There is no such project.")
        changed = {name: value for name, value in wanted.items() if getattr(locked, name) != value}
        if changed:
            _save_change(locked, changed)
    return locked


def _save_change(project: Project, changed: Mapping[str, Any]) -> None:
    before = {name: getattr(project, name) for name in changed}
    if "text_search_config" in changed:
        await_holders(project.pk)
        request_refresh(project.pk)
        publish_on_commit(refresh_lexemes, project.pk)
    for name, value in changed.items():
        setattr(project, name, value)
    project.updated_at = timezone.now()
    project.save(update_fields=[*changed, "updated_at"])
    record("project", project.public_id, project_id=project.pk, before=before, after=changed)


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
