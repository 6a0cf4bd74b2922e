"""Routes of users, projects and API keys."""

from django.urls import path

from soat.tenancy.api.views import ApiKeyViewSet, ProjectViewSet, SessionViewSet, UserViewSet

urlpatterns = [
    path("users/bootstrap", SessionViewSet.as_view({"post": "bootstrap"})),
    path("users/login", SessionViewSet.as_view({"post": "login"})),
    path("users/me", UserViewSet.as_view({"get": "me"})),
    path("projects", ProjectViewSet.as_view({"get": "list", "post": "create"})),
    path("projects/<public_id:project_id>", ProjectViewSet.as_view({"get": "retrieve", "patch": "partial_update"})),
    path("api-keys", ApiKeyViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "api-keys/<public_id:api_key_id>",
        ApiKeyViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
]
