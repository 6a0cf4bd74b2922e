"""The addresses of the server."""

from django.contrib import admin
from django.urls import include, path, re_path

from soat.api.errors import not_found
from soat.api.health import health, ready

urlpatterns = [
    path("health", health),
    path("health/ready", ready),
    path("api/v1/", include("soat.api.router")),
    path("admin/", admin.site.urls),
    re_path(r"^.*$", not_found),
]

handler400 = "soat.api.errors.bad_request"
handler403 = "soat.api.errors.forbidden"
handler404 = "soat.api.errors.not_found"
handler500 = "soat.api.errors.server_error"
