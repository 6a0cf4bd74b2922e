"""Change and delete views for rows that are written by services."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect

from soat.core.errors import SoatError

REFUSAL = "service_refusal"
"""Where a request keeps what a service said to it."""


class OutsideTransaction(admin.ModelAdmin):  # type: ignore[type-arg]
    """Django's views without its transaction around them: services open their own, network first."""

    @method_decorator(csrf_protect)
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Show the form again with what the service said, when it refuses."""
        view: Any = self._changeform_view  # type: ignore[attr-defined]
        try:
            return view(request, object_id, form_url, extra_context)
        except SoatError as refusal:
            setattr(request, REFUSAL, refusal)
            return view(request, object_id, form_url, extra_context)

    @method_decorator(csrf_protect)
    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Say why the service refuses, on the object's page."""
        view: Any = self._delete_view  # type: ignore[attr-defined]
        try:
            return view(request, object_id, extra_context)
        except SoatError as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect("../change/")
