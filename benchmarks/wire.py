"""The lightest client: one kept connection, bytes that are ready to be sent."""

import json
import socket
from typing import Any
from urllib.parse import urlsplit

_END = b"\r\n\r\n"
_CHUNK = 65_536


class RequestFailed(Exception):
    """An answer that is no success."""


def request_bytes(method: str, path: str, token: str, body: dict[str, Any] | None = None) -> bytes:
    """Return a whole request."""
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class Wire:
    """A connection to the server at ``url``."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def send(self, request: bytes) -> bytes:
        """Send a request and return the body of its answer. Raises ``RequestFailed`` unless it is a success."""
        self._socket.sendall(request)
        received = b""
        while _END not in received:
            received += self._more()
        head, _, body = received.partition(_END)
        lines = head.split(b"\r\n")
        length = next(int(line[15:]) for line in lines if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += self._more()
        if not lines[0].startswith(b"HTTP/1.1 2"):
            raise RequestFailed(f"{lines[0].decode()}: {body[:500].decode()}")
        return body

    def _more(self) -> bytes:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise RequestFailed("The server closed the connection.")
        return data
