"""The base of every viewset: the caller, the validated body, the project that a request names."""

from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from soat.core.body import Body, validated
from soat.core.errors import SoatError, Unauthorized
from soat.core.openapi import takes_query
from soat.tenancy.access import Caller, ProjectScope, missing_project, project_for, require_any_project, scope_for
from soat.tenancy.models import Project


class ResourceViewSet(GenericViewSet):  # type: ignore[type-arg]
    """Explicit methods only; rows are looked up by the services, never here."""

    queryset = Project.objects.none()
    pagination_class = None
    _unreadable: Exception | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, then refuse a query string where the operation reads none."""
        super().initial(request, *args, **kwargs)
        operation = getattr(self, self.action or "", None)
        if operation is not None and not takes_query(operation):
            self.query(Body)

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """Name the methods of this path, in the ``Allow`` header."""
        return Response(status=204)

    @property
    def caller(self) -> Caller:
        """Return who is asking. Raises ``Unauthorized`` on a route that lets anyone in."""
        if not isinstance(self.request.auth, Caller):
            raise Unauthorized("This needs a credential.")
        return self.request.auth

    def body(self, serializer_class: type[Body]) -> dict[str, Any]:
        """Return the validated body. Raises ``ValidationFailed``, or what made the body unreadable."""
        if self._unreadable is not None:
            raise self._unreadable
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
        except (APIException, SoatError, SuspiciousOperation) as error:
            # Permission comes first: a body that cannot be read is refused when it is validated.
            self._unreadable = error
            return None
        named: object = data.get("project_id") if hasattr(data, "get") else None
        return None if named == "" else named
