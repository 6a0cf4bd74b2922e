"""The addresses of the server."""

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView
from rest_framework.permissions import AllowAny

from soat.api.docs import DocsView
from soat.api.errors import not_found
from soat.api.health import health, ready
from soat.operations.views import metrics
from soat.tenancy.admin.login import login

urlpatterns = [
    path("health", health),
    path("health/ready", ready),
    path("metrics", metrics),
    path("api/v1/", include("soat.api.router")),
    path(
        "docs",
        DocsView.as_view(url="/api/v1/openapi.json", authentication_classes=(), permission_classes=(AllowAny,)),
    ),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    # The theme's search for pages is not shown anywhere.
    path("admin/search/", not_found),
    path("admin/login/", login),
    path("admin/", admin.site.urls),
    re_path(r"^.*$", not_found),
]

handler400 = "soat.desk.errors.bad_request"
handler403 = "soat.desk.errors.forbidden"
handler404 = "soat.desk.errors.not_found"
handler500 = "soat.desk.errors.server_error"
