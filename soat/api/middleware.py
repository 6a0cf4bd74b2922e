"""What every request passes, whatever it asks for."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase


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


def _extends_ascii(charset: str) -> bool:
    try:
        return b"probe".decode(charset) == "probe"
    except (LookupError, ValueError):
        return False
