"""The web server's worker, which has an answer of its own to what never becomes a request."""

import json
import logging
import socket
import struct
import uuid
from http import HTTPStatus
from typing import Any

from django.conf import settings
from gunicorn import util
from gunicorn.http import errors
from gunicorn.workers.gthread import ThreadWorker

logger = logging.getLogger(__name__)

_OURS = (errors.InvalidResponseHeader, errors.InvalidResponseHeaderName, errors.ConfigurationProblem)


class EnvelopeWorker(ThreadWorker):  # type: ignore[misc]  # the package has no types
    """``gthread`` that answers errors in the shape of the API's, where the server's own are pages of HTML.

    It gives up a client that falls silent in the middle of a request: else as many of them as there are
    threads would stop the server.
    """

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection to a thread."""
        # The system keeps this time itself: to Python it stays a blocking socket, as the server wants it.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            conn.sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", settings.WEB_SILENCE_SECONDS, 0))
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        """Answer a request; return whether the connection may bring another one."""
        goes_on = super().handle(conn)
        if not goes_on:
            # Waiting for the client to hang up is left to this thread: the server would do it in the one that
            # accepts connections, which nobody may hold up.
            util.close_graceful(conn.sock)
            conn.close = _is_closed
        return goes_on

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer what cannot be read as a request, or crashed outside of the application."""
        request_id = uuid.uuid4().hex
        status, code, message = _refusal(exc)
        if status is HTTPStatus.INTERNAL_SERVER_ERROR:
            logger.error("Error outside of the application, answered as %s", request_id, exc_info=exc)
        else:
            logger.warning("A request that cannot be read (%s), answered as %s", type(exc).__name__, request_id)
        try:
            util.write_nonblock(client, _answer(status, code, message, request_id))
        except OSError:
            logger.debug("Nobody is there any more to be told.")


def _is_closed(graceful: bool = False) -> None:
    """Do nothing in place of closing what is closed."""


def _refusal(error: BaseException) -> tuple[HTTPStatus, str, str]:
    if isinstance(error, errors.LimitRequestLine):
        return HTTPStatus.REQUEST_URI_TOO_LONG, "REQUEST_TOO_LARGE", "The address is too long."
    if isinstance(error, errors.LimitRequestHeaders):
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "REQUEST_TOO_LARGE", "The headers are too large or too many."
    if isinstance(error, errors.ParseException) and not isinstance(error, _OURS):
        return HTTPStatus.BAD_REQUEST, "VALIDATION_FAILED", "This is no request of HTTP that could be read."
    return HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", "Something went wrong on the server."


def _answer(status: HTTPStatus, code: str, message: str, request_id: str) -> bytes:
    from soat.api.errors import envelope  # noqa: PLC0415  (needs the apps, which are loaded after this class)

    body = json.dumps(envelope(code, message))
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "X-Content-Type-Options: nosniff",
        f"X-Request-Id: {request_id}",
    )
    return "\r\n".join((*head, "", body)).encode("ascii")
