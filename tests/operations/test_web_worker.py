"""What never becomes a request is answered in the same shape as any other error."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.operations.deployment import wait_until

PROJECT = Path(__file__).resolve().parents[2]
HOST = b"Host: localhost\r\n"
THREADS = 4


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The socket of a web server that runs as it does anywhere."""
    folder = tmp_path_factory.mktemp("web")
    path = folder / "http"
    command = [sys.executable, "-m", "gunicorn", "--config", "python:soat.gunicorn", "soat.wsgi:application"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--bind", f"unix:{path}", "--workers", "1", "--threads", str(THREADS)],
            cwd=PROJECT,
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "soat.settings", "WEB_SILENCE_SECONDS": "1"},
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: path.exists() and exchange(path, b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")[0] == 200)
        yield path
    finally:
        server.terminate()
        server.wait(30)


def exchange(address: Path, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes; return the status, the headers and the body of the answer."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(address))
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("ascii").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, body


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414, "REQUEST_TOO_LARGE"),
        (b"GET /?a=" + b"%20" * 4_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414, "REQUEST_TOO_LARGE"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X-Long: " + b"a" * 20_000 + b"\r\n\r\n", 431, "REQUEST_TOO_LARGE"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X-Many: a\r\n" * 500 + b"\r\n", 431, "REQUEST_TOO_LARGE"),
        (b"what is this\r\n\r\n", 400, "VALIDATION_FAILED"),
        (b"GET / HTTP/9.9\r\n" + HOST + b"\r\n", 400, "VALIDATION_FAILED"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"A header: x\r\n\r\n", 400, "VALIDATION_FAILED"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X-Nul: a\x00b\r\n\r\n", 400, "VALIDATION_FAILED"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: x\r\n\r\n", 400, "VALIDATION_FAILED"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", 400, "VALIDATION_FAILED"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: foo\r\n\r\n", 400, "VALIDATION_FAILED"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Expect: cake\r\n\r\n", 400, "VALIDATION_FAILED"),
        (b"GET /nope HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n", 404, "RESOURCE_NOT_FOUND"),
        (b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n", 400, "VALIDATION_FAILED"),
        (b"GET /%FF%FE HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n", 404, "RESOURCE_NOT_FOUND"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_each_error_of_the_web_server_has_the_shape_of_the_api(
    address: Path, request_bytes: bytes, status: int, code: str
) -> None:
    answered, headers, body = exchange(address, request_bytes)
    assert answered == status, body
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert re.fullmatch("[0-9a-f]{32}", headers["X-Request-Id"])
    error = json.loads(body)["error"]
    assert error["code"] == code
    assert error["message"].endswith(".")


LOGIN = b"POST /api/v1/users/login HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n"


@pytest.mark.parametrize("begun", [b"GET / HTT", b"GET / HTTP/1.1\r\nHost: loc", LOGIN, LOGIN + b"{"])
def test_clients_that_fall_silent_do_not_stop_the_server(address: Path, begun: bytes) -> None:
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2 * THREADS)]
        for client in silent:
            client.connect(str(address))
            client.sendall(begun)
        assert exchange(address, b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")[0] == 200


def test_a_body_that_stops_coming_is_answered(address: Path) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(address))
        client.sendall(LOGIN + b"{")
        answer = client.recv(65_536)
        while b"}}" not in answer:
            answer += client.recv(65_536) or pytest.fail(f"The answer ends too early: {answer!r}")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"VALIDATION_FAILED" in answer


def test_clients_that_do_not_hang_up_do_not_stop_the_server(address: Path) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(THREADS - 1):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(str(address))
            client.sendall(b"GET /health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
            assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")
        begun = time.monotonic()
        assert exchange(address, b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")[0] == 200
        assert time.monotonic() - begun < 1.5
