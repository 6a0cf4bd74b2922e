"""The one family of errors that services raise and the API answers."""

from collections.abc import Mapping
from typing import Any, ClassVar


def printable(name: object) -> str:
    """Return the beginning of a client's text in a form that an answer can quote, whatever is in it."""
    return str(name)[:100].encode("utf-8", "replace").decode()


class SoatError(Exception):
    """An expected failure with its HTTP status and its code from the wire contract.

    ``meta`` is shown to the client beside ``code`` and ``message``; ``retry_after`` (seconds)
    becomes the ``Retry-After`` header; ``headers`` are further ones.
    """

    status: ClassVar[int] = 500
    default_code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        meta: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.meta = dict(meta) if meta else None
        self.retry_after = retry_after
        self.headers = dict(headers or {})


class ValidationFailed(SoatError):
    """Something that the client sent cannot be accepted as it is."""

    status = 400
    default_code = "VALIDATION_FAILED"


class Unauthorized(SoatError):
    """There is no valid credential."""

    status = 401
    default_code = "UNAUTHORIZED"


class Forbidden(SoatError):
    """The caller is known and may not do this."""

    status = 403
    default_code = "FORBIDDEN"


class NotFound(SoatError):
    """No such row, or none that the caller may see: the answer is the same."""

    status = 404
    default_code = "RESOURCE_NOT_FOUND"


class Conflict(SoatError):
    """The request is right, but the state it meets forbids it."""

    status = 409
    default_code = "NAME_CONFLICT"


class Gone(SoatError):
    """What was there once, and is not any more."""

    status = 410
    default_code = "UPLOAD_TOKEN_EXPIRED"


class RangeRefused(SoatError):
    """A range of bytes that the file does not have."""

    status = 416
    default_code = "VALIDATION_FAILED"


class TooLarge(SoatError):
    """The request, or what it asks to be done while it waits, is over a limit."""

    status = 413
    default_code = "REQUEST_TOO_LARGE"


class TooManyRequests(SoatError):
    """The client has asked too often; ``retry_after`` says when it may again."""

    status = 429
    default_code = "RATE_LIMITED"


class ServiceUnavailable(SoatError):
    """Something that the answer needs is not there at the moment."""

    status = 503
    default_code = "RESOURCE_BUSY"
