"""A port on which a worker gives its metrics, for a worker on another machine than the web server's."""

import hmac
import logging
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.conf import settings
from prometheus_client import CONTENT_TYPE_LATEST

from soat.operations.process_metrics import exposition

logger = logging.getLogger(__name__)


def serve() -> WSGIServer | None:
    """Answer on ``METRICS_WORKER_PORT`` from a thread until the process ends; None without that setting."""
    if not settings.METRICS_WORKER_PORT:
        return None
    try:
        server = make_server("", settings.METRICS_WORKER_PORT, _answer, _Server, _Handler)
    except OSError as error:
        # Work comes before numbers.
        logger.error("The metrics of this worker cannot be had on port %d: %s", settings.METRICS_WORKER_PORT, error)
        return None
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def allows(authorization: str) -> bool:
    """Tell whether an ``Authorization`` header carries ``METRICS_TOKEN``."""
    wanted = f"Bearer {settings.METRICS_TOKEN}".encode()
    return bool(settings.METRICS_TOKEN) and hmac.compare_digest(authorization.encode(), wanted)


def _answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    if not allows(environ.get("HTTP_AUTHORIZATION", "")):
        start_response("401 Unauthorized", [("WWW-Authenticate", "Bearer"), ("Content-Type", "text/plain")])
        return [b"The metrics need the METRICS_TOKEN.\n"]
    start_response("200 OK", [("Content-Type", CONTENT_TYPE_LATEST)])
    return [exposition()]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = 10

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: a scrape is no event."""
