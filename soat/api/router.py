"""Every route below ``/api/v1``."""

from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.permissions import AllowAny

import soat.core.converters  # noqa: F401  (registers the path converter that the routes use)

urlpatterns = [
    path("", include("soat.tenancy.api.urls")),
    path("", include("soat.files.api.urls")),
    path("", include("embeddings.api.urls")),
    path("", include("documents.api.urls")),
    path("", include("memories.api.urls")),
    path("", include("knowledge.api.urls")),
    path("openapi.json", SpectacularJSONAPIView.as_view(authentication_classes=(), permission_classes=(AllowAny,))),
]
