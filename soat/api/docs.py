"""The page that describes every call."""

from typing import Any

from django.http import JsonResponse
from drf_spectacular.views import SpectacularSwaggerView


class DocsView(SpectacularSwaggerView):
    """The page; what it refuses it refuses in the shape of the API, where the framework would render a template."""

    def handle_exception(self, exc: Exception) -> Any:
        """Answer an error."""
        answer = super().handle_exception(exc)
        return JsonResponse(answer.data, status=answer.status_code)
