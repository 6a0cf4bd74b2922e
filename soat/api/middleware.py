"""What every request passes, whatever it asks for."""

from collections.abc import Callable

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from soat.api.errors import envelope


class ReadableCharset:
    """Forget a charset that cannot be that of a text, as Django does with an unknown one.

    ``charset=zlib`` names a codec of Python, and would crash whoever reads the query or the form.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        if request.encoding is not None and not _extends_ascii(request.encoding):
            request.encoding = "utf-8"
        return self._get_response(request)


class AnnouncedLength:
    """Refuse a body that comes in chunks: Django reads none of it, and the rest of the request would do as if empty."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
            message = "The body must come with its length: send Content-Length, not Transfer-Encoding."
            return JsonResponse(envelope("VALIDATION_FAILED", message), status=400)
        return self._get_response(request)


def _extends_ascii(charset: str) -> bool:
    try:
        return b"probe\xff".decode(charset, "surrogateescape").startswith("probe")
    except (LookupError, ValueError):
        return False
