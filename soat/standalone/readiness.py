"""Whether the parts of the stack answer, and whether their port is free."""

import contextlib
import http.client
import socket
from http import HTTPStatus

from celery import Celery
from kombu.exceptions import KombuError

from soat.standalone.errors import StandaloneError

_ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (how to call a server that listens everywhere)


def reachable(host: str) -> str:
    """Return the address by which a server that listens on ``host`` is called from this machine."""
    return _ANY.get(host, host)


def bracketed(host: str) -> str:
    """Return the host as it stands in an address with a port."""
    return f"[{host}]" if ":" in host else host


def free_port(host: str, port: int) -> int:
    """Return the port if a server can listen on it, or any free one for port 0."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(1)
            return int(listener.getsockname()[1])
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StandaloneError(
            f"The web server cannot listen on {bracketed(host)}:{port} ({reason}): "
            "stop what uses that port, or give another one (--port)."
        ) from error


def answers_http(host: str, port: int, path: str) -> bool:
    """Tell whether a GET is answered with 200."""
    connection = http.client.HTTPConnection(reachable(host), port, timeout=5)
    with contextlib.closing(connection):
        try:
            connection.request("GET", path)
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False


def answers_ping(broker_url: str, node: str) -> bool:
    """Tell whether a Celery worker answers through the broker."""
    options = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
    with (
        Celery("soat-standalone", broker=broker_url, set_as_current=False) as app,
        app.connection_for_write(transport_options=options) as connection,
    ):
        failures: tuple[type[BaseException], ...] = (OSError, KombuError, *connection.connection_errors)
        try:
            return bool(app.control.ping(destination=[node], timeout=1.0, connection=connection))
        except failures:
            return False
