"""The base of every viewset: the caller, the validated body, the project that a request names."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured, SuspiciousOperation
from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from soat.core.body import Body, validated
from soat.core.errors import SoatError, Unauthorized
from soat.core.openapi import policy_action_of, takes_query
from soat.core.parsers import read_form
from soat.tenancy.access import Access, Caller, Reach, missing_project
from soat.tenancy.models import Project
from soat.tenancy.throttles import count_request


class ResourceViewSet(GenericViewSet):  # type: ignore[type-arg]
    """Explicit methods only; rows are looked up by the services, never here."""

    queryset = Project.objects.none()
    pagination_class = None
    _unreadable: Exception | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, then refuse a query string where the operation reads none."""
        super().initial(request, *args, **kwargs)
        if isinstance(request.auth, Caller):
            self.headers.update(count_request(request.auth))
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

    @property
    def access(self) -> Access:
        """Return what the running operation's policy action opens to the caller."""
        action = policy_action_of(getattr(self, self.action))
        if action is None:
            raise ImproperlyConfigured(f"{self.action} of {type(self).__name__} names no policy action.")
        return self.caller.access(action)

    def body(self, serializer_class: type[Body]) -> dict[str, Any]:
        """Return the validated body. Raises ``ValidationFailed``, or what made the body unreadable."""
        if self._unreadable is not None:
            raise self._unreadable
        return validated(serializer_class, self.request.data)

    def query(self, serializer_class: type[Body]) -> dict[str, Any]:
        """Return the validated query string. Raises ``ValidationFailed``."""
        raw = self.request.META.get("QUERY_STRING", "").encode("iso-8859-1")  # as WSGI hands bytes on
        return validated(serializer_class, read_form(raw, self.request.encoding))

    def target_project_and_body(self, serializer_class: type[Body]) -> tuple[Project, dict[str, Any]]:
        """Return the project in which the body asks to create something, and the validated body.

        Permission comes before validation, and ``project_id`` is all that it reads. Raises
        ``Forbidden`` or ``ValidationFailed``. What the body says of path and tags is for ``Access.require``.
        """
        named = self._named_project()
        if named is None and self.caller.project_id is None:
            self.access.require_anywhere()
            self.body(serializer_class)
            raise missing_project()
        project = self.access.project(named)
        return project, self.body(serializer_class)

    def listed(self) -> Reach:
        """Return what a list covers, which its query may narrow to a project. Raises ``Forbidden``."""
        return self.access.reach(self.request.query_params.get("project_id"))

    def searched(self) -> Reach:
        """Return what a search covers, which its body may narrow to a project. Raises ``Forbidden``."""
        return self.access.reach(self._named_project())

    def _named_project(self) -> object:
        try:
            data = self.request.data
        except (APIException, SoatError, SuspiciousOperation) as error:
            # Permission comes first: a body that cannot be read is refused when it is validated.
            self._unreadable = error
            return None
        named: object = data.get("project_id") if hasattr(data, "get") else None
        return None if named == "" else named
