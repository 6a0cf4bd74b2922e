"""What the small servers in place of real ones share: vectors that depend on the text, and faults on request."""

import hashlib
import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, TypeVar

Vectors = list[list[float]]


@dataclass(frozen=True)
class Fault:
    """How one answer goes wrong; what is not set stays as it should be."""

    status: int = 200
    error: str = ""
    code: str = ""
    """The error's name for machines, where the protocol has one."""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    """Seconds between the tenths of the body."""
    body: bytes | None = None
    drop: bool = False
    """Close the connection in the middle of the body."""
    hang_up: bool = False
    """Close the connection without an answer."""
    change: Callable[[Vectors], Any] | None = None
    """What is answered in place of the vectors."""
    rewrite: Callable[[Any], Any] | None = None
    """What is answered in place of the whole JSON."""


@dataclass(frozen=True)
class Reply:
    """An answer before its faults."""

    status: int
    payload: Any
    headers: dict[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """The protocol's own error to a request."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


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


class ModelServer(ThreadingHTTPServer):
    """The server's model counts a word as a token; its behaviour is changed through the attributes."""

    daemon_threads = True
    block_on_close = False
    prefix: ClassVar[str] = ""
    """What the address in the settings has behind the host."""
    faults: ClassVar[Mapping[str, Fault]] = {}
    """How this protocol says what all of them can say."""

    def __init__(self, *, model: str, dimensions: int, context: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model
        self.dimensions = dimensions
        self._usual_context = context
        self.reset()

    def reset(self) -> None:
        """Forget what was asked and what a test has changed."""
        self.context = self._usual_context
        self.script: deque[Fault | None] = deque()
        """Faults of the next embed requests, one each; None lets one pass."""
        self.always: Fault | None = None
        self.marked: dict[str, Fault] = {}
        """A fault for every request that has this marker in one of its texts."""
        self.rows: dict[str, Callable[[list[float]], list[float]]] = {}
        """What becomes of the vector of a text that has this marker."""
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers_seen: list[dict[str, str]] = []
        self.clients: list[int] = []
        """The port of the connection that each request came through."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.prefix}"

    def texts(self, path: str, request: dict[str, Any]) -> list[str]:
        """Return the texts of a request. Raises `Refusal` for one that the real server would refuse."""
        raise NotImplementedError

    def answer(self, vectors: Any, request: dict[str, Any]) -> Any:
        """Return the JSON of an answer."""
        raise NotImplementedError

    def error(self, status: int, message: str, code: str) -> Reply:
        """Return an error as the protocol says it."""
        raise NotImplementedError

    def vector(self, text: str, request: dict[str, Any]) -> list[float]:
        """Return a text's vector; models that tell kinds apart do it here."""
        return text_vector(text, self.dimensions)

    def count_words(self, texts: list[str]) -> int:
        """Return the number of tokens of the longest text."""
        return max((len(text.split()) for text in texts), default=0)

    def fault(self, texts: list[str]) -> Fault | None:
        """Return what goes wrong with the request that has just come."""
        if self.script:
            return self.script.popleft()
        marked = [fault for marker, fault in self.marked.items() if any(marker in text for text in texts)]
        return marked[0] if marked else self.always

    def reply(self, path: str, request: dict[str, Any]) -> tuple[Reply, Fault]:
        """Return the answer to a request and how it goes wrong."""
        fault = Fault()
        try:
            texts = self.texts(path, request)
            fault = self.fault(texts) or Fault()
            time.sleep(fault.delay)
            if fault.status != 200:
                raise Refusal(fault.status, fault.error, fault.code)
            vectors: Any = self._vectors(texts, request)
            payload = self.answer(fault.change(vectors) if fault.change else vectors, request)
            return Reply(200, fault.rewrite(payload) if fault.rewrite else payload), fault
        except Refusal as refusal:
            return self.error(refusal.status, str(refusal), refusal.code), fault

    def _vectors(self, texts: list[str], request: dict[str, Any]) -> Vectors:
        """Return the texts' vectors, the bad rows included."""
        rows = []
        for text in texts:
            row = self.vector(text, request)
            for marker, change in self.rows.items():
                row = change(row) if marker in text else row
            rows.append(row)
        return rows


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for head and body
    disable_nagle_algorithm = True  # a second one would wait 40 ms for the acknowledgement of the first
    server: ModelServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.headers_seen.append({name.lower(): value for name, value in self.headers.items()})
        self.server.paths.append(self.path)
        self.server.clients.append(self.client_address[1])
        self._send(*self.server.reply(self.path, request))

    def _send(self, reply: Reply, fault: Fault) -> None:
        self.close_connection = fault.drop or fault.hang_up
        if fault.hang_up:
            return
        body = json.dumps(reply.payload).encode() if fault.body is None else fault.body
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers, **fault.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._write(body[: len(body) // 2] if fault.drop else body, fault.pause)

    def _write(self, body: bytes, pause: float) -> None:
        step = len(body) // 10 + 1 if pause else len(body) + 1
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            self.wfile.flush()
            time.sleep(pause)

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, TimeoutError):  # the client's timeout is what some tests are about
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep the tests' output quiet."""


S = TypeVar("S", bound=ModelServer)


@contextmanager
def running(server: S) -> Iterator[S]:
    """Run a server until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
