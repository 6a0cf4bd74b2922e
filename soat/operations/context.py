"""What a line of the log is written for: the request, the task, who asked.

Values that are known in advance are bound with ``structlog.contextvars``. The caller is read when a
line is written, since a request is logged before anybody knows whose it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpRequest
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from soat.core.serving import served_request, serving


@contextmanager
def observed(request: HttpRequest, request_id: str) -> Iterator[None]:
    """Say that all that happens in the block happens for a request; what is bound in it ends with it."""
    before = get_contextvars()
    bind_contextvars(request_id=request_id)
    try:
        with serving(request, request_id):
            yield
    finally:
        clear_contextvars()
        bind_contextvars(**before)


def caller() -> dict[str, str]:
    """Return the public ids of who asks: the user, and the API key that it came with. Nothing is looked up."""
    request = served_request()
    by_token = getattr(request, "auth", None)
    by_session = getattr(request, "_cached_user", None)
    found = {
        "user_id": getattr(by_token, "user_public_id", None) or getattr(by_session, "public_id", None),
        "key_id": getattr(by_token, "key_public_id", None),
    }
    return {name: value for name, value in found.items() if value}
