"""Which form an answer has."""

from collections.abc import Iterable
from typing import Any

from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request


class LenientNegotiation(DefaultContentNegotiation):
    """As the ``Accept`` header asks, and the view's first form where it asks for none that there is.

    ``Accept: application/pdf`` on a download names the type of the file, not that of an error.
    """

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None) -> Any:
        """Return ``(renderer, media type)``."""
        choices = list(renderers)
        try:
            return super().select_renderer(request, choices, format_suffix)
        except NotAcceptable:
            return choices[0], choices[0].media_type
