"""Routes of users, projects, policies and API keys."""

from django.urls import path

from soat.tenancy.api.views import ApiKeyViewSet, PolicyViewSet, ProjectViewSet, SessionViewSet, UserViewSet

urlpatterns = [
    path("users/bootstrap", SessionViewSet.as_view({"post": "bootstrap"})),
    path("users/login", SessionViewSet.as_view({"post": "login"})),
    path("users/me", UserViewSet.as_view({"get": "me"})),
    path("users", UserViewSet.as_view({"get": "list", "post": "create"})),
    path("users/<public_id:user_id>", UserViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("users/<public_id:user_id>/policies", UserViewSet.as_view({"put": "attach_policies"})),
    path("projects", ProjectViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "projects/<public_id:project_id>",
        ProjectViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path("policies", PolicyViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "policies/<public_id:policy_id>",
        PolicyViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("api-keys", ApiKeyViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "api-keys/<public_id:api_key_id>",
        ApiKeyViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
]
