"""Who is asking, and which projects that opens.

One object answers both questions, "may I?" and "which rows?". Callers pass it on explicitly:
nothing here is ambient.
"""

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, QuerySet

from soat.core.errors import Forbidden, SoatError, ValidationFailed, printable
from soat.tenancy.models import Project

ModelT = TypeVar("ModelT", bound=Model)


@dataclass(frozen=True, slots=True)
class ProjectScope:
    """A set of projects: all of them, or the listed database keys."""

    everything: bool
    ids: tuple[int, ...] = ()

    def filter(self, rows: QuerySet[ModelT], field: str = "project_id") -> QuerySet[ModelT]:
        """Keep the rows whose ``field`` is in the scope."""
        if self.everything:
            return rows
        if len(self.ids) == 1:
            return rows.filter(**{field: self.ids[0]})
        return rows.filter(**{f"{field}__in": self.ids}) if self.ids else rows.none()

    def __contains__(self, project_id: int) -> bool:
        return self.everything or project_id in self.ids


ALL_PROJECTS = ProjectScope(everything=True)
NO_PROJECT = ProjectScope(everything=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated principal: a user, and the key that it came with, if any.

    ``project_id`` and ``project_public_id`` are those of the project that a key is bound to.
    """

    user_id: int
    user_public_id: str
    is_admin: bool
    key_public_id: str | None = None
    project_id: int | None = None
    project_public_id: str | None = None

    def projects(self, action: str) -> ProjectScope:
        """Return the projects in which this caller may do ``action``."""
        if self.project_id is not None:
            return ProjectScope(everything=False, ids=(self.project_id,))
        return ALL_PROJECTS if self.is_admin else NO_PROJECT


def require_admin(caller: Caller) -> None:
    """Raise ``Forbidden`` unless the caller is an admin with its own session or an unbound key."""
    if not caller.is_admin or caller.project_id is not None:
        raise Forbidden("Only an admin may do this.")


def require_any_project(caller: Caller, action: str) -> None:
    """Raise ``Forbidden`` unless there is a project in which the caller may do ``action``."""
    scope = caller.projects(action)
    if not scope.everything and not scope.ids:
        raise Forbidden("You may not do this in any project.")


def require_binding(caller: Caller, requested: object) -> None:
    """Raise ``Forbidden`` for a key that is bound to another project than ``requested``, if that names one."""
    if not isinstance(requested, str) or not requested:
        return
    if caller.project_public_id is not None and requested != caller.project_public_id:
        raise Forbidden(
            "This API key is bound to another project.",
            code="API_KEY_PROJECT_SCOPE",
            meta={"scoped_project": caller.project_public_id, "requested_project": printable(requested)},
        )


def scope_for(caller: Caller, action: str, requested: object) -> ProjectScope:
    """Return the projects that a list or a search covers.

    ``requested`` is the request's ``project_id``; None means every project that the caller may
    read. Raises ``Forbidden`` for one that is unknown or not granted.
    """
    if requested is None or requested == "":
        return caller.projects(action)
    return ProjectScope(everything=False, ids=(project_for(caller, action, requested).pk,))


def project_for(caller: Caller, action: str, requested: object) -> Project:
    """Return the project in which the caller wants to create something.

    Raises ``Forbidden`` when it is unknown or not granted (the same answer for both), and
    ``ValidationFailed`` when none was named and the credential implies none.
    """
    if requested is None or requested == "":
        if caller.project_id is None:
            raise missing_project()
        return Project.objects.get(pk=caller.project_id)
    if not isinstance(requested, str):
        require_any_project(caller, action)
        raise ValidationFailed("project_id must be a string.", meta={"fields": {"project_id": "must be a string."}})
    require_binding(caller, requested)
    if "\x00" in requested or not requested.isascii():
        raise forbidden_project()
    project = caller.projects(action).filter(Project.objects.filter(public_id=requested), "id").first()
    if project is None:
        raise forbidden_project()
    return project


def forbidden_project() -> SoatError:
    """Return the error for a project that is unknown or not granted."""
    return Forbidden("The project is unknown or not granted to you.")


def missing_project() -> SoatError:
    """Return the error for a request that has to name its project."""
    return ValidationFailed(
        "project_id is required: this credential is not bound to one project.", meta={"missingFields": ["project_id"]}
    )
