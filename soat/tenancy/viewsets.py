"""The base of every viewset: the caller, the validated body, the project that a request names."""

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.viewsets import GenericViewSet

from soat.core.body import Body, validated
from soat.core.errors import Unauthorized
from soat.tenancy.access import Caller, ProjectScope, missing_project, project_for, require_any_project, scope_for
from soat.tenancy.models import Project


class ResourceViewSet(GenericViewSet):  # type: ignore[type-arg]
    """Explicit methods only; rows are looked up by the services, never here."""

    queryset = Project.objects.none()
    pagination_class = None

    @property
    def caller(self) -> Caller:
        """Return who is asking. Raises ``Unauthorized`` on a route that lets anyone in."""
        if not isinstance(self.request.auth, Caller):
            raise Unauthorized("This needs a credential.")
        return self.request.auth

    def body(self, serializer_class: type[Body]) -> dict[str, Any]:
        """Return the validated body. Raises ``ValidationFailed``."""
        return validated(serializer_class, self.request.data)

    def query(self, serializer_class: type[Body]) -> dict[str, Any]:
        """Return the validated query string. Raises ``ValidationFailed``."""
        return validated(serializer_class, self.request.query_params)

    def target_project_and_body(self, action: str, serializer_class: type[Body]) -> tuple[Project, dict[str, Any]]:
        """Return the project in which the body asks to create something, and the validated body.

        Permission comes before validation, and ``project_id`` is all that it reads. Raises
        ``Forbidden`` or ``ValidationFailed``.
        """
        named = self._named_project()
        if named is None and self.caller.project_id is None:
            require_any_project(self.caller, action)
            self.body(serializer_class)
            raise missing_project()
        project = project_for(self.caller, action, named)
        return project, self.body(serializer_class)

    def listed_projects(self, action: str) -> ProjectScope:
        """Return the projects that a list covers. Raises ``Forbidden``."""
        return scope_for(self.caller, action, self.request.query_params.get("project_id"))

    def searched_projects(self, action: str) -> ProjectScope:
        """Return the projects that a search covers, named in its body. Raises ``Forbidden``."""
        return scope_for(self.caller, action, self._named_project())

    def _named_project(self) -> object:
        try:
            data = self.request.data
        except ParseError:
            return None
        named: object = data.get("project_id") if hasattr(data, "get") else None
        return None if named == "" else named
