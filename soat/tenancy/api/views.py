"""REST of users, projects, policies and API keys."""

from collections.abc import Sequence
from typing import Any, cast

from django.db.models import QuerySet
from django.http import HttpRequest
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from soat.core.body import Body
from soat.core.errors import Forbidden, ValidationFailed
from soat.core.openapi import operation
from soat.core.pages import PageQuery, paged
from soat.core.serving import client_address
from soat.tenancy import keys, policies, projects, services
from soat.tenancy.access import require_admin, require_binding
from soat.tenancy.api import schemas
from soat.tenancy.models import ApiKey, Policy, Project, Role, User
from soat.tenancy.representations import represent_api_key, represent_policy, represent_project, represent_user
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
        address = client_address(cast("HttpRequest", request))
        user, token = services.log_in(**self.body(schemas.Credentials), address=address)
        return Response({**represent_user(user), "token": token})


class UserViewSet(ResourceViewSet):
    """Users: rows of no project, so what is granted for one project opens none of this."""

    @operation("getCurrentUser", action=None, tag="users", responses={200: schemas.UserRecord})
    def me(self, request: Request) -> Response:
        """Return the user behind the credential."""
        return Response(represent_user(cast("User", request.user)))

    @operation("listUsers", action="users:ListUsers", tag="users", query=PageQuery, responses={200: schemas.UserPage})
    def list(self, request: Request) -> Response:
        """List users, newest first."""
        self.access.require_global()
        users = self.access.rows(User.objects.order_by("-created_at", "-id"))
        return Response(paged(users, self.query(PageQuery), represent_user))

    @operation(
        "createUser",
        action="users:CreateUser",
        tag="users",
        request=schemas.UserCreate,
        responses={201: schemas.UserRecord},
    )
    def create(self, request: Request) -> Response:
        """Create a user. Only an admin makes admins."""
        self.access.require_global()
        body = self.body(schemas.UserCreate)
        if body.get("role") == Role.ADMIN:
            require_admin(self.caller)
        self.access.require(User(username=body["username"]))
        return Response(represent_user(services.create_user(**body)), status=201)

    @operation("getUser", action="users:GetUser", tag="users", responses={200: schemas.UserRecord})
    def retrieve(self, request: Request, user_id: str) -> Response:
        """Return a user."""
        return Response(represent_user(self._user(user_id)))

    @operation("deleteUser", action="users:DeleteUser", tag="users", responses={204: None})
    def destroy(self, request: Request, user_id: str) -> Response:
        """Delete a user with its keys and sessions. Only an admin deletes admins, and never the last one."""
        user = self._user(user_id)
        if user.is_superuser:
            require_admin(self.caller)
        services.delete_user(user=user)
        return Response(status=204)

    @operation(
        "attachUserPolicies",
        action="users:AttachUserPolicies",
        tag="users",
        request=schemas.UserPolicies,
        responses={204: None},
    )
    def attach_policies(self, request: Request, user_id: str) -> Response:
        """Replace the policies of a user."""
        body = self.body(schemas.UserPolicies)
        user = self._user(user_id)
        named = policies.named_policies(self.caller.access("policies:GetPolicy"), body["policy_ids"])
        policies.attach_user_policies(user=user, policies=named)
        return Response(status=204)

    def _user(self, user_id: str) -> User:
        return self.access.get(User.objects.all(), user_id, "There is no such user.")


class ProjectViewSet(ResourceViewSet):
    """Projects."""

    @operation(
        "listProjects",
        action="projects:ListProjects",
        tag="projects",
        query=PageQuery,
        responses={200: schemas.ProjectPage},
    )
    def list(self, request: Request) -> Response:
        """List the projects that the caller may read."""
        return Response(paged(self.access.rows(Project.objects.all()), self.query(PageQuery), represent_project))

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
        body = self.body(schemas.ProjectCreate)
        self.access.require(Project(name=body["name"]))
        return Response(represent_project(projects.create_project(**body)), status=201)

    @operation("getProject", action="projects:GetProject", tag="projects", responses={200: schemas.ProjectRecord})
    def retrieve(self, request: Request, project_id: str) -> Response:
        """Return a project."""
        return Response(represent_project(self._project(project_id)))

    @operation(
        "updateProject",
        action="projects:UpdateProject",
        tag="projects",
        request=schemas.ProjectUpdate,
        responses={200: schemas.ProjectRecord},
    )
    def partial_update(self, request: Request, project_id: str) -> Response:
        """Rename a project, or change how full-text search takes its words."""
        changes = self.body(schemas.ProjectUpdate)
        project = self._project(project_id)
        return Response(represent_project(projects.update_project(project=project, changes=changes)))

    @operation(
        "deleteProject",
        action="projects:DeleteProject",
        tag="projects",
        query=schemas.ForceQuery,
        responses={204: None},
    )
    def destroy(self, request: Request, project_id: str) -> Response:
        """Delete a project, with ``force`` also what stands in it: rows and bytes."""
        force = self.query(schemas.ForceQuery).get("force", False)
        projects.delete_project(project=self._project(project_id), force=force)
        return Response(status=204)

    def _project(self, project_id: str) -> Project:
        return self.access.get(Project.objects.all(), project_id, "There is no such project.")


class PolicyViewSet(ResourceViewSet):
    """Policies: rows of no project, as users."""

    @operation(
        "listPolicies",
        action="policies:ListPolicies",
        tag="policies",
        query=schemas.PolicyListQuery,
        responses={200: schemas.PolicyPage},
    )
    def list(self, request: Request) -> Response:
        """List policies, newest first; with ``user_id`` those of that user."""
        self.access.require_global()
        query = self.query(schemas.PolicyListQuery)
        rows = self.access.rows(Policy.objects.all())
        if query.get("user_id"):
            rows = rows.filter(users__in=self._known_users(query["user_id"]))
        return Response(paged(rows, query, represent_policy))

    @operation(
        "createPolicy",
        action="policies:CreatePolicy",
        tag="policies",
        request=schemas.PolicyCreate,
        responses={201: schemas.PolicyRecord},
    )
    def create(self, request: Request) -> Response:
        """Store a policy; it does nothing until it is attached to a user or a key."""
        self.access.require_global()
        body = self.body(schemas.PolicyCreate)
        self.access.require(Policy())
        policy = policies.create_policy(
            name=body.get("name"), description=body.get("description"), document=body["document"]
        )
        return Response(represent_policy(policy), status=201)

    @operation("getPolicy", action="policies:GetPolicy", tag="policies", responses={200: schemas.PolicyRecord})
    def retrieve(self, request: Request, policy_id: str) -> Response:
        """Return a policy."""
        return Response(represent_policy(self._policy(policy_id)))

    @operation(
        "updatePolicy",
        action="policies:UpdatePolicy",
        tag="policies",
        request=schemas.PolicyCreate,
        responses={200: schemas.PolicyRecord},
    )
    def update(self, request: Request, policy_id: str) -> Response:
        """Change a policy; what it says now counts from the next request on."""
        changes = self.body(schemas.PolicyCreate)
        policies.check_document(changes["document"])
        policy = self._policy(policy_id)
        return Response(represent_policy(policies.update_policy(policy=policy, changes=changes)))

    @operation("deletePolicy", action="policies:DeletePolicy", tag="policies", responses={204: None})
    def destroy(self, request: Request, policy_id: str) -> Response:
        """Delete a policy, and take it from whoever has it. A key that had it opens less, never more."""
        policies.delete_policy(policy=self._policy(policy_id))
        return Response(status=204)

    def _known_users(self, user_id: str) -> QuerySet[User]:
        """Return the user of an id, if the caller may read it: everybody may read itself."""
        named = User.objects.filter(public_id=user_id)
        return self.caller.access("users:GetUser").rows(named) | named.filter(pk=self.caller.user_id)

    def _policy(self, policy_id: str) -> Policy:
        return self.access.get(Policy.objects.all(), policy_id, policies.NO_POLICY)


class ApiKeyViewSet(ResourceViewSet):
    """API keys."""

    @operation(
        "listApiKeys",
        action="api-keys:ListApiKeys",
        tag="api-keys",
        query=PageQuery,
        responses={200: schemas.ApiKeyPage},
    )
    def list(self, request: Request) -> Response:
        """List the caller's keys, for an admin all keys."""
        return Response(paged(keys.visible_api_keys(self.access), self.query(PageQuery), represent_api_key))

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
        project = self._binding(body.get("project_id"))
        self.access.require(ApiKey(project=project))
        named = self._policies(body) if "policy_ids" in body else None
        key, secret = keys.create_api_key(
            user_id=self.caller.user_id,
            name=body["name"],
            project=project,
            policies=keys.granted_policies(self.caller, named, None),
        )
        return Response({**self._record(key), "key": secret}, status=201)

    @operation("getApiKey", action="api-keys:GetApiKey", tag="api-keys", responses={200: schemas.ApiKeyRecord})
    def retrieve(self, request: Request, api_key_id: str) -> Response:
        """Return a key without its secret."""
        return Response(represent_api_key(keys.visible_api_key(self.access, api_key_id)))

    @operation(
        "updateApiKey",
        action="api-keys:UpdateApiKey",
        tag="api-keys",
        request=schemas.ApiKeyUpdate,
        responses={200: schemas.ApiKeyRecord},
    )
    def update(self, request: Request, api_key_id: str) -> Response:
        """Rename a key, bind it to another project or replace its policies."""
        body = self._body(schemas.ApiKeyUpdate)
        key = keys.visible_api_key(self.access, api_key_id)
        changes: dict[str, Any] = {"name": body["name"]} if "name" in body else {}
        if "project_id" in body:
            changes["project"] = self._binding(body["project_id"])
            self.access.require(ApiKey(project=changes["project"]))
            keys.require_same_binding(self.caller, key, changes["project"])
        if "policy_ids" in body:
            named = self._policies(body)
            changes["policies"] = keys.granted_policies(self.caller, named, key.policy_ids)  # type: ignore[attr-defined]
        return Response(self._record(keys.update_api_key(key=key, changes=changes)))

    @operation("deleteApiKey", action="api-keys:DeleteApiKey", tag="api-keys", responses={204: None})
    def destroy(self, request: Request, api_key_id: str) -> Response:
        """Revoke a key at once."""
        keys.delete_api_key(key=keys.visible_api_key(self.access, api_key_id))
        return Response(status=204)

    def _body(self, serializer_class: type[Body]) -> dict[str, Any]:
        """Return the body; who may not ask, or not for this project, is refused before it is read."""
        self.access.require_anywhere()
        require_binding(self.caller, self._named_project())
        return self.body(serializer_class)

    def _policies(self, body: dict[str, Any]) -> Sequence[Policy]:
        return policies.named_policies(self.caller.access("policies:GetPolicy"), body["policy_ids"])

    def _record(self, key: ApiKey) -> dict[str, Any]:
        return represent_api_key(keys.reread_key(self.caller, key))

    def _binding(self, project_id: str | None) -> Project | None:
        """Return the project to bind to. A bound key only makes keys for its own project, never a wider one."""
        if project_id is None and self.caller.project_id is None:
            return None
        try:
            return self.access.project(project_id)
        except Forbidden:
            message = "names no project that you may use."
            raise ValidationFailed(f"project_id {message}", meta={"fields": {"project_id": message}}) from None
