"""What every request passes, whatever it asks for."""

from collections.abc import Callable

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from soat.api.errors import envelope


class ReadableCharset:
    """Forget a charset that cannot be that of a text, as Django does with an unknown one.

    ``charset=zlib`` names a codec of Python, and would crash whoever reads the query or the form; with
    ``unicode_escape`` or ``utf-7`` a backslash or a plus would not be one any more.
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


_ASCII = bytes(each for each in range(128) if each != ord("\\")) + rb"\u0041\x41+AEE-" + b"\x1b$B!!\x1b(B"
"""Each character, and what stands for another one in codecs that only look like ASCII."""


def _extends_ascii(charset: str) -> bool:
    try:
        b"\xff".decode(charset, "surrogateescape")
        return _ASCII.decode(charset) == _ASCII.decode("ascii")
    except (LookupError, ValueError):
        return False
