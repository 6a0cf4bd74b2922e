"""REST of users, projects and API keys."""

from typing import Any, cast

from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from soat.core.body import Body
from soat.core.errors import Forbidden, ValidationFailed
from soat.core.openapi import PAGE_QUERY, operation
from soat.core.pages import PageQuery, paged
from soat.tenancy import services
from soat.tenancy.access import require_binding
from soat.tenancy.api import schemas
from soat.tenancy.models import Project, User
from soat.tenancy.representations import represent_api_key, represent_project, represent_user
from soat.tenancy.viewsets import ResourceViewSet


class SessionViewSet(ResourceViewSet):
    """Bootstrap and login: the two operations that need no credential."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @operation(
        "bootstrapUser", action=None, tag="users", request=schemas.Credentials, responses={201: schemas.UserRecord}
    )
    def bootstrap(self, request: Request) -> Response:
        """Create the first admin."""
        user = services.bootstrap_user(**self.body(schemas.Credentials))
        return Response(represent_user(user), status=201)

    @operation(
        "loginUser", action=None, tag="users", request=schemas.Credentials, responses={200: schemas.LoginResponse}
    )
    def login(self, request: Request) -> Response:
        """Exchange a password for a token."""
        user, token = services.log_in(**self.body(schemas.Credentials))
        return Response({**represent_user(user), "token": token})


class UserViewSet(ResourceViewSet):
    """Users."""

    @operation("getCurrentUser", action=None, tag="users", responses={200: schemas.UserRecord})
    def me(self, request: Request) -> Response:
        """Return the user behind the credential."""
        return Response(represent_user(cast("User", request.user)))


class ProjectViewSet(ResourceViewSet):
    """Projects."""

    @operation(
        "listProjects",
        action="projects:ListProjects",
        tag="projects",
        query=PAGE_QUERY,
        responses={200: schemas.ProjectPage},
    )
    def list(self, request: Request) -> Response:
        """List the projects that the caller may read."""
        projects = self.access.rows(Project.objects.all())
        return Response(paged(projects, self.query(PageQuery), represent_project))

    @operation(
        "createProject",
        action="projects:CreateProject",
        tag="projects",
        request=schemas.ProjectCreate,
        responses={201: schemas.ProjectRecord},
    )
    def create(self, request: Request) -> Response:
        """Create a project."""
        self.access.require_global()
        project = services.create_project(**self.body(schemas.ProjectCreate))
        return Response(represent_project(project), status=201)

    @operation("getProject", action="projects:GetProject", tag="projects", responses={200: schemas.ProjectRecord})
    def retrieve(self, request: Request, project_id: str) -> Response:
        """Return a project."""
        project = self.access.get(Project.objects.all(), project_id, "There is no such project.")
        return Response(represent_project(project))

    @operation(
        "updateProject",
        action="projects:UpdateProject",
        tag="projects",
        request=schemas.ProjectUpdate,
        responses={200: schemas.ProjectRecord},
    )
    def partial_update(self, request: Request, project_id: str) -> Response:
        """Rename a project."""
        changes = self.body(schemas.ProjectUpdate)
        project = self.access.get(Project.objects.all(), project_id, "There is no such project.")
        return Response(represent_project(services.update_project(project=project, changes=changes)))


class ApiKeyViewSet(ResourceViewSet):
    """API keys."""

    @operation(
        "listApiKeys",
        action="api-keys:ListApiKeys",
        tag="api-keys",
        query=PAGE_QUERY,
        responses={200: schemas.ApiKeyPage},
    )
    def list(self, request: Request) -> Response:
        """List the caller's keys, for an admin all keys."""
        return Response(paged(services.visible_api_keys(self.caller), self.query(PageQuery), represent_api_key))

    @operation(
        "createApiKey",
        action="api-keys:CreateApiKey",
        tag="api-keys",
        request=schemas.ApiKeyCreate,
        responses={201: schemas.ApiKeyCreated},
    )
    def create(self, request: Request) -> Response:
        """Create a key; the answer is the only one that holds it."""
        body = self._body(schemas.ApiKeyCreate)
        key, secret = services.create_api_key(
            user_id=self.caller.user_id, name=body["name"], project=self._binding(body.get("project_id"))
        )
        return Response({**represent_api_key(key), "key": secret}, status=201)

    @operation("getApiKey", action="api-keys:GetApiKey", tag="api-keys", responses={200: schemas.ApiKeyRecord})
    def retrieve(self, request: Request, api_key_id: str) -> Response:
        """Return a key without its secret."""
        return Response(represent_api_key(services.visible_api_key(caller=self.caller, public_id=api_key_id)))

    @operation(
        "updateApiKey",
        action="api-keys:UpdateApiKey",
        tag="api-keys",
        request=schemas.ApiKeyUpdate,
        responses={200: schemas.ApiKeyRecord},
    )
    def update(self, request: Request, api_key_id: str) -> Response:
        """Rename a key or bind it to another project."""
        body = self._body(schemas.ApiKeyUpdate)
        key = services.visible_api_key(caller=self.caller, public_id=api_key_id)
        changes: dict[str, Any] = {"name": body["name"]} if "name" in body else {}
        if "project_id" in body:
            changes["project"] = self._binding(body["project_id"])
        return Response(represent_api_key(services.update_api_key(key=key, changes=changes)))

    @operation("deleteApiKey", action="api-keys:DeleteApiKey", tag="api-keys", responses={204: None})
    def destroy(self, request: Request, api_key_id: str) -> Response:
        """Revoke a key at once."""
        services.visible_api_key(caller=self.caller, public_id=api_key_id).delete()
        return Response(status=204)

    def _body(self, serializer_class: type[Body]) -> dict[str, Any]:
        """Return the body; who may not ask, or not for this project, is refused before it is read."""
        self.access.require_anywhere()
        require_binding(self.caller, self._named_project())
        body = self.body(serializer_class)
        if body.get("policy_ids"):
            raise ValidationFailed("policy_ids names no policy that you may use.", code="POLICY_NOT_FOUND")
        return body

    def _binding(self, project_id: str | None) -> Project | None:
        """Return the project to bind to. A bound key only makes keys for its own project, never a wider one."""
        if project_id is None and self.caller.project_id is None:
            return None
        try:
            return self.caller.access("api-keys:CreateApiKey").project(project_id)
        except Forbidden:
            message = "names no project that you may use."
            raise ValidationFailed(f"project_id {message}", meta={"fields": {"project_id": message}}) from None
