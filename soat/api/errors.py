"""Every error as ``{"error": {code, message, meta?}}``."""

import logging
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from psycopg.errors import ForeignKeyViolation
from rest_framework import exceptions
from rest_framework.response import Response

from soat.core.errors import SoatError

logger = logging.getLogger(__name__)

_BY_TYPE: tuple[tuple[type[Exception], int, str], ...] = (
    (exceptions.NotAuthenticated, 401, "UNAUTHORIZED"),
    (exceptions.AuthenticationFailed, 401, "UNAUTHORIZED"),
    (exceptions.PermissionDenied, 403, "FORBIDDEN"),
    (exceptions.NotFound, 404, "RESOURCE_NOT_FOUND"),
    (exceptions.MethodNotAllowed, 405, "METHOD_NOT_ALLOWED"),
    (exceptions.UnsupportedMediaType, 415, "UNSUPPORTED_MEDIA_TYPE"),
    (exceptions.Throttled, 429, "RATE_LIMITED"),
    (exceptions.ParseError, 400, "VALIDATION_FAILED"),
    (exceptions.ValidationError, 400, "VALIDATION_FAILED"),
)
_SENTENCES: tuple[tuple[type[Exception], int, str, str], ...] = (
    (Http404, 404, "RESOURCE_NOT_FOUND", "There is no such thing."),
    (RequestDataTooBig, 413, "REQUEST_TOO_LARGE", "The body is too large."),
    (SuspiciousOperation, 400, "VALIDATION_FAILED", "The request has too many fields or parts, or one that cannot be."),
    (UnreadablePostError, 400, "VALIDATION_FAILED", "The body ends before its announced length."),
)
"""What Django raises, whose own words are about its settings."""


def envelope(code: str, message: str, meta: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the only shape that an error has."""
    error: dict[str, Any] = {"code": code, "message": message}
    return {"error": {**error, "meta": meta} if meta else error}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Turn whatever a view raised into a response; what nobody expected is logged and answered with 500."""
    if isinstance(error, SoatError):
        headers = dict(error.headers)
        if error.retry_after is not None:
            headers["Retry-After"] = str(error.retry_after)
        if error.status == 401:  # noqa: PLR2004
            headers["WWW-Authenticate"] = "Bearer"
        return Response(envelope(error.code, error.message, error.meta), status=error.status, headers=headers)
    for kind, status, code in _BY_TYPE:
        if isinstance(error, kind):
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004
            return Response(envelope(code, str(error)), status=status, headers=headers)
    for kind, status, code, sentence in _SENTENCES:
        if isinstance(error, kind):
            return Response(envelope(code, sentence), status=status)
    if isinstance(error, IntegrityError) and isinstance(error.__cause__, ForeignKeyViolation):
        message = "Something that the request refers to has just been deleted."
        return Response(envelope("RESOURCE_NOT_FOUND", message), status=404)
    if isinstance(error, OperationalError | InterfaceError):
        logger.error("The database does not answer: %s", error)
        body = envelope("RESOURCE_BUSY", "The database does not answer; try again shortly.")
        return Response(body, status=503, headers={"Retry-After": "5"})
    logger.error("Unexpected error in %s", type(context.get("view")).__name__, exc_info=error)
    return Response(envelope("INTERNAL_ERROR", "Something went wrong on the server."), status=500)


@csrf_exempt
def not_found(request: HttpRequest, *args: object, **kwargs: object) -> JsonResponse:
    """Answer an unknown path."""
    return JsonResponse(envelope("RESOURCE_NOT_FOUND", "There is nothing at this path."), status=404)


def bad_request(request: HttpRequest, *args: object, **kwargs: object) -> JsonResponse:
    """Answer a request that Django itself refuses (a host that is not allowed, a broken form)."""
    return JsonResponse(envelope("VALIDATION_FAILED", "The request cannot be read."), status=400)


def forbidden(request: HttpRequest, *args: object, **kwargs: object) -> JsonResponse:
    """Answer a request that Django itself forbids."""
    return JsonResponse(envelope("FORBIDDEN", "This is not allowed."), status=403)


def server_error(request: HttpRequest, *args: object, **kwargs: object) -> JsonResponse:
    """Answer a crash outside of a view."""
    return JsonResponse(envelope("INTERNAL_ERROR", "Something went wrong on the server."), status=500)
