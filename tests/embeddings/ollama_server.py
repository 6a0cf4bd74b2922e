"""A small server that speaks Ollama's embedding protocol over HTTP, and can misbehave on request."""

import hashlib
import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Vectors = list[list[float]]


@dataclass(frozen=True)
class Fault:
    """How one answer goes wrong; what is not set stays as it should be."""

    status: int = 200
    error: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    body: bytes | None = None
    drop: bool = False
    """Close the connection in the middle of the body."""
    change: Callable[[Vectors], Any] | None = None
    """What is answered in place of the vectors."""


def text_vector(text: str, dimensions: int) -> list[float]:
    """Return a unit vector that depends on the text alone."""
    numbers: list[float] = []
    block = 0
    while len(numbers) < dimensions:
        digest = hashlib.sha256(f"{block}:{text}".encode()).digest()
        numbers.extend(byte / 127.5 - 1 for byte in digest)
        block += 1
    norm = math.hypot(*numbers[:dimensions])
    return [number / norm for number in numbers[:dimensions]]


class OllamaServer(ThreadingHTTPServer):
    """The server's model counts a word as a token; its behaviour is changed through the attributes."""

    daemon_threads = True

    def __init__(self, *, model: str = "test-embed", dimensions: int = 8, context: int = 256) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model
        self.dimensions = dimensions
        self.context = context
        self.script: deque[Fault | None] = deque()
        """Faults of the next embed requests, one each; None lets one pass."""
        self.always: Fault | None = None
        self.marked: dict[str, Fault] = {}
        """A fault for every request that has this marker in one of its texts."""
        self.rows: dict[str, Callable[[list[float]], list[float]]] = {}
        """What becomes of the vector of a text that has this marker."""
        self.requests: list[dict[str, Any]] = []
        self.headers_seen: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def fault(self, texts: list[str]) -> Fault | None:
        """Return what goes wrong with the request that has just come."""
        if self.script:
            return self.script.popleft()
        marked = [fault for marker, fault in self.marked.items() if any(marker in text for text in texts)]
        return marked[0] if marked else self.always

    def vectors(self, texts: list[str]) -> Vectors:
        """Return the texts' vectors, the bad rows included."""
        rows = []
        for text in texts:
            row = text_vector(text, self.dimensions)
            for marker, change in self.rows.items():
                row = change(row) if marker in text else row
            rows.append(row)
        return rows


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for head and body: two would cost 40 ms of delayed acknowledgement each time
    server: OllamaServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":
            self._answer(200, {"model_info": {"bert.context_length": self.server.context}})
        elif self.path == "/api/embed":
            self._embed(request)
        else:
            self._answer(404, {"error": "404 page not found"})

    def _embed(self, request: dict[str, Any]) -> None:
        server = self.server
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        server.requests.append(request)
        server.headers_seen.append({name.lower(): value for name, value in self.headers.items()})
        fault = server.fault(texts) or Fault()
        time.sleep(fault.delay)
        if fault.status != 200:
            self._answer(fault.status, {"error": fault.error}, fault)
        elif request["model"] != server.model:
            self._answer(404, {"error": f'model "{request["model"]}" not found, try pulling it first'})
        elif request.get("truncate") is False and any(len(text.split()) > server.context for text in texts):
            self._answer(400, {"error": "the input length exceeds the context length"})
        else:
            vectors: Any = server.vectors(texts)
            vectors = fault.change(vectors) if fault.change else vectors
            self._answer(200, {"model": server.model, "embeddings": vectors, "total_duration": 1_000}, fault)

    def _answer(self, status: int, payload: dict[str, Any], fault: Fault | None = None) -> None:
        fault = fault or Fault()
        body = json.dumps(payload).encode() if fault.body is None else fault.body
        self.send_response(status)
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault.drop else body)
        self.close_connection = fault.drop

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, TimeoutError):  # the client's timeout is what some tests are about
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep the tests' output quiet."""


@contextmanager
def running_server(**options: Any) -> Iterator[OllamaServer]:
    """Run a server on a free port until the block ends."""
    server = OllamaServer(**options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
