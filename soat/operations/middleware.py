"""Every request gets an id, one line in the log, and a place in the metrics."""

import logging
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import Counter, Histogram
from structlog.contextvars import bind_contextvars

from soat.core.serving import operation_name
from soat.operations.context import observed

logger = logging.getLogger("soat.request")

HEADER = "X-Request-Id"
_SANE = re.compile(r"[A-Za-z0-9._:=+/@-]{1,128}")
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_PROBES = frozenset({"health", "health/ready", "metrics"})
_ERROR = 400
_SERVER_ERROR = 500

REQUESTS = Counter(
    "soat_http_requests",
    "Requests answered, by operation, method and class of status.",
    ["operation", "method", "status"],
)
SECONDS = Histogram(
    "soat_http_request_seconds",
    "Time until the answer began, by operation.",
    ["operation"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120),
)


class RequestObserver:
    """The outermost middleware. The id is the client's own ``X-Request-Id`` where that is one, else a new one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, whatever becomes of it, with its id."""
        begun = time.perf_counter()
        wanted = request.headers.get(HEADER, "")
        request_id = wanted if _SANE.fullmatch(wanted) else uuid.uuid4().hex
        with observed(request, request_id):
            response = self._get_response(request)
            response[HEADER] = request_id
            _note(request, response.status_code, time.perf_counter() - begun)
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Bind the ids in the path (``document_id``, ``memory_id`` …) to the lines that follow."""
        bind_contextvars(**{name: str(value) for name, value in kwargs.items() if name.endswith("_id")})


def _note(request: HttpRequest, status: int, seconds: float) -> None:
    name = operation_name(request)
    method = request.method if request.method in _METHODS else "OTHER"
    REQUESTS.labels(name, method, f"{status // 100}xx").inc()
    SECONDS.labels(name).observe(seconds)
    is_routine = name in _PROBES or (name == "none" and status < _ERROR)
    level = logging.WARNING if status >= _SERVER_ERROR else logging.DEBUG if is_routine else logging.INFO
    fields = {"method": method, "operation": name, "status": status, "milliseconds": round(seconds * 1_000, 1)}
    logger.log(level, "request", extra=fields)
