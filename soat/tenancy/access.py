"""Who is asking, and what that opens.

One object, ``Access``, answers both questions, "may I?" for a row and "which rows?" for a list or a
search. Callers pass it on explicitly: nothing here is ambient.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from soat.core.errors import Forbidden, NotFound, SoatError, ValidationFailed, printable
from soat.engine.policy import Clause, PolicySet, Rule, rule_for
from soat.tenancy.models import Project
from soat.tenancy.resources import ResourceKind, both, kind_of

ModelT = TypeVar("ModelT", bound=Model)


@dataclass(frozen=True, slots=True)
class ProjectScope:
    """A set of projects, all of them or the listed database keys; ``rows`` says which rows in them, None all."""

    everything: bool
    ids: tuple[int, ...] = ()
    rows: Q | None = None

    def filter(self, rows: QuerySet[ModelT], field: str | None = "project_id") -> QuerySet[ModelT]:
        """Keep the rows that are in the scope; ``field`` is their project's key, None where they have none."""
        if not self.everything:
            if not self.ids or field is None:
                return rows.none()
            rows = rows.filter(**({field: self.ids[0]} if len(self.ids) == 1 else {f"{field}__in": self.ids}))
        return rows if self.rows is None else rows.filter(self.rows)

    def of(self, model: type[Model]) -> "ProjectScope":
        """Return the scope for the rows of ``model``: this one, whatever the model."""
        return self

    @property
    def is_empty(self) -> bool:
        """Tell whether no row can be in it."""
        return not self.everything and not self.ids

    def __contains__(self, project_id: int) -> bool:
        return self.everything or project_id in self.ids


ALL_PROJECTS = ProjectScope(everything=True)
NO_PROJECT = ProjectScope(everything=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated principal: a user, and the key that it came with, if any.

    ``project_id`` and ``project_public_id`` are those of the project that a key is bound to. Each policy
    set must allow what the caller does: the user's, and the key's where it has its own; an admin has
    none and passes. ``known_projects`` has the keys of the projects that the policies name, and
    ``deleted_projects`` those of projects that are gone but for their rows. ``rate_limit`` is the key's own.
    """

    user_id: int
    user_public_id: str
    is_admin: bool
    key_public_id: str | None = None
    project_id: int | None = None
    project_public_id: str | None = None
    is_restricted: bool = False
    policies: tuple[PolicySet, ...] = ()
    known_projects: Mapping[str, int] = field(default_factory=dict)
    deleted_projects: tuple[int, ...] = ()
    rate_limit: int | None = None
    key_name: str | None = None

    @property
    def policy_sets(self) -> tuple[PolicySet, ...]:
        """Return the sets that must all allow; who is no admin and has no policy may nothing."""
        return self.policies if self.policies or self.is_admin else ((),)

    def access(self, action: str) -> "Access":
        """Return what ``action`` opens to this caller."""
        return Access(self, action)


@dataclass(frozen=True, slots=True)
class Access:
    """A caller and the policy action that it wants to do."""

    caller: Caller
    action: str

    def rows(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        """Keep the rows on which the caller may do the action."""
        kind = kind_of(rows.model)
        return self._scope(kind, None).filter(rows, kind.project)

    def get(self, rows: QuerySet[ModelT], public_id: str, missing: str) -> ModelT:
        """Return one row of ``rows``.

        Raises ``NotFound`` (with the sentence ``missing``) for an unknown id and for a row that the caller
        may not read, ``Forbidden`` for one that it may read but not change.
        """
        row = self.find(rows, public_id, missing)
        self.require(row)
        return row

    def find(self, rows: QuerySet[ModelT], public_id: str, missing: str, *, kind: ResourceKind | None = None) -> ModelT:
        """Return a row that is not as unknown, whatever may be done with it. Raises ``NotFound``."""
        kind = kind or kind_of(rows.model)
        scope = self._scope(kind, None, reading=True)
        row = scope.filter(rows, kind.project).filter(public_id=public_id).first()
        if row is None:
            raise NotFound(missing)
        return row

    def readable(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        """Keep the rows that are not as unknown, whatever may be done with them."""
        kind = kind_of(rows.model)
        return self._scope(kind, None, reading=True).filter(rows, kind.project)

    def hidden(self, rows: QuerySet[ModelT], project_id: int) -> QuerySet[ModelT]:
        """Return those rows of one project that are as unknown; where none can be, without asking the database."""
        scope = self._scope(kind_of(rows.model), None, reading=True)
        if scope.rows is None and project_id in scope:
            return rows.none()
        return rows.exclude(pk__in=self.readable(rows).values("pk"))

    def allows(self, row: Model) -> bool:
        """Tell whether the caller may do the action on a row, which need not be saved yet."""
        kind = kind_of(type(row))
        target = kind.target(row)
        caller = self.caller
        if target.project in caller.deleted_projects:
            return False
        if caller.project_id is not None and target.project != caller.project_id:
            return False
        return all(self._rule(policies, kind).allows(target) for policies in caller.policy_sets)

    def require(self, row: Model) -> None:
        """Raise ``Forbidden`` unless the caller may do the action on ``row``."""
        if not self.allows(row):
            raise Forbidden("Your policies do not allow this.")

    def require_changed(self, row: Model, changes: Mapping[str, Any]) -> None:
        """Raise ``Forbidden`` unless the action is allowed also on what the row is to become."""
        kind = kind_of(type(row))
        seen = {name: value for name, value in changes.items() if name in {kind.path, kind.tags}}
        if not seen:
            return
        changed = copy.copy(row)
        for name, value in seen.items():
            setattr(changed, name, value)
        self.require(changed)

    def opens(self, project_id: int | None) -> bool:
        """Tell whether the action may be allowed on some row of a project, None: on one of no project."""
        caller = self.caller
        if caller.project_id is not None and project_id != caller.project_id:
            return False
        return all(_opens(_any_type(caller, policies, self.action), project_id) for policies in caller.policy_sets)

    def require_open(self, project_id: int) -> None:
        """Raise ``Forbidden`` unless the action may be allowed on some row of a project."""
        if not self.opens(project_id):
            raise Forbidden("Your policies do not allow this.")

    def require_anywhere(self) -> None:
        """Raise ``Forbidden`` unless there may be a row, in any project, on which the action is allowed."""
        caller = self.caller
        for policies in caller.policy_sets:
            rule = _any_type(caller, policies, self.action)
            projects = {clause.project for clause in rule.allow}
            if caller.project_id is not None:
                projects = {caller.project_id} if projects & {caller.project_id, None} else set()
            if not any(_opens(rule, project) for project in projects):
                raise Forbidden("You may not do this in any project.")

    def require_global(self) -> None:
        """Raise ``Forbidden`` unless the action is opened for rows of no project; a bound key never has that."""
        if not self.opens(None):
            raise Forbidden("You may not do this.")

    def project(self, requested: object) -> Project:
        """Return the project in which the caller wants to create something.

        Raises ``Forbidden`` when it is unknown or not granted (the same answer for both), and
        ``ValidationFailed`` when none was named and the credential implies none.
        """
        caller = self.caller
        if requested is None or requested == "":
            if caller.project_id is None:
                raise missing_project()
            if not self.opens(caller.project_id):
                raise _forbidden_project()
            return Project.objects.get(pk=caller.project_id)
        if not isinstance(requested, str):
            self.require_anywhere()
            raise ValidationFailed("project_id must be a string.", meta={"fields": {"project_id": "must be a string."}})
        require_binding(caller, requested)
        if "\x00" in requested or not requested.isascii():
            raise _forbidden_project()
        project = Project.objects.filter(public_id=requested, deleting_at=None).first()
        if project is None or not self.opens(project.pk):
            raise _forbidden_project()
        return project

    def reach(self, requested: object) -> "Reach":
        """Return what a list or a search covers.

        ``requested`` is the request's ``project_id``; None means every project that the caller may read.
        Raises ``Forbidden`` for one that is unknown or not granted.
        """
        if requested is None or requested == "":
            return Reach(self, None)
        return Reach(self, self.project(requested).pk)

    def _rule(self, policies: PolicySet, kind: ResourceKind, action: str | None = None) -> Rule:
        return rule_for(policies, action or self.action, kind.types, self.caller.known_projects)

    def _scope(self, kind: ResourceKind, project_id: int | None, *, reading: bool = False) -> ProjectScope:
        """Return the rows on which the action is allowed; with ``reading`` those that are not as unknown.

        A policy set that grants the read action is asked for that; one that says nothing of it
        leaves the reading to the action itself.
        """
        caller = self.caller
        bound = caller.project_id if caller.project_id is not None else project_id
        if bound is not None and (kind.project is None or (project_id is not None and project_id != bound)):
            return NO_PROJECT
        scope = ALL_PROJECTS if bound is None else ProjectScope(everything=False, ids=(bound,))
        condition: Q | bool = True
        if caller.deleted_projects and kind.project is not None:
            condition = ~Q(**{f"{kind.project}__in": caller.deleted_projects})
        for policies in caller.policy_sets:
            rule = self._rule(policies, kind)
            said = [self._rule(policies, kind, read) for read in kind.reads]
            needed = [granted for granted in said if granted.allow]
            if not reading or not said[0].allow:
                needed.append(rule)
            for granted in needed:
                scope = _narrowed(scope, granted)
                condition = both(condition, True if _is_whole(granted) else kind.allowed(granted))
            for unsaid in said:
                if not unsaid.allow:
                    condition = both(condition, kind.not_denied(unsaid))
        if isinstance(condition, bool):
            return scope if condition else NO_PROJECT
        return ProjectScope(scope.everything, scope.ids, condition)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a list or a search covers: an access, and the one project that was asked for, if any."""

    access: Access
    project_id: int | None

    def of(self, model: type[Model]) -> ProjectScope:
        """Return the scope for the rows of ``model``."""
        return self.access._scope(kind_of(model), self.project_id)  # noqa: SLF001  (the two are one thing)


def _any_type(caller: Caller, policies: PolicySet, action: str) -> Rule:
    return rule_for(policies, action, None, caller.known_projects)


def _opens(rule: Rule, project_id: int | None) -> bool:
    if any(clause.is_whole and clause.type is None and clause.project in {None, project_id} for clause in rule.deny):
        return False
    return any(clause.project in {None, project_id} for clause in rule.allow)


def _narrowed(scope: ProjectScope, rule: Rule) -> ProjectScope:
    """Return the projects of ``scope`` in which ``rule`` allows anything."""
    projects = {clause.project for clause in rule.allow}
    if None in projects:
        return scope
    named = sorted(project for project in projects if project is not None)
    return ProjectScope(everything=False, ids=tuple(pk for pk in named if pk in scope))


def _is_whole(rule: Rule) -> bool:
    """Tell whether the rule is about whole projects only, so that its list of projects says it all."""

    def is_covered(clause: Clause) -> bool:
        return any(other.is_whole and other.project in {None, clause.project} for other in rule.allow)

    return not rule.deny and all(is_covered(clause) for clause in rule.allow)


def require_admin(caller: Caller, sentence: str = "Only an admin may do this.") -> None:
    """Raise ``Forbidden`` with ``sentence`` unless the caller is an admin with its own session or an unbound key."""
    if not caller.is_admin or caller.project_id is not None:
        raise Forbidden(sentence)


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


def _forbidden_project() -> SoatError:
    """Return the error for a project that is unknown or not granted."""
    return Forbidden("The project is unknown or not granted to you.")


def missing_project() -> SoatError:
    """Return the error for a request that has to name its project."""
    return ValidationFailed(
        "project_id is required: this credential is not bound to one project.", meta={"missingFields": ["project_id"]}
    )
