"""A server that speaks OpenAI's protocol for embeddings and answers with vectors that it was given.

    python -m benchmarks.vector_server FILE

``FILE`` (NumPy's .npz) has ``texts`` and ``vectors``. The port is printed. Answers are made beforehand, so
that a call costs next to nothing here; what it costs the caller is part of what is measured.
"""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.material import PROJECT, Rows

_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
_UNKNOWN = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
_END = b"\r\n\r\n"


class _Answering(asyncio.Protocol):
    """One connection: whole requests in, answers out."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self._answers = answers
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write: Callable[[bytes], None] = transport.write  # type: ignore[attr-defined]
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(_END)
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        if end and len(rest) >= length:
            self._received = rest[length:]
            asked = json.loads(rest[:length])["input"]
            text = asked if isinstance(asked, str) else asked[0]
            self._write(self._answers.get(text, _UNKNOWN))


def _answer(vector: Sequence[float]) -> bytes:
    data = [{"object": "embedding", "index": 0, "embedding": [round(float(value), 9) for value in vector]}]
    body = json.dumps({"object": "list", "data": data, "model": "bench", "usage": {"prompt_tokens": 1}}).encode()
    return _HEAD.format(len(body)).encode() + body


async def _serve(answers: dict[str, bytes]) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Answering(answers), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


@contextmanager
def vector_server(texts: Sequence[str], vectors: Rows) -> Iterator[str]:
    """Run the server in a process of its own and yield its address."""
    with tempfile.TemporaryDirectory(prefix="soat-bench-") as folder:
        file = Path(folder) / "vectors.npz"
        np.savez(file, texts=np.asarray(texts), vectors=vectors)
        command = [sys.executable, "-m", "benchmarks.vector_server", str(file)]
        process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)  # noqa: S603
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline() if process.stdout else 0)}/v1"
        finally:
            process.terminate()
            process.wait(10)


def main() -> None:
    """Serve until the process is ended."""
    with np.load(sys.argv[1]) as file:
        answers = {str(text): _answer(vector) for text, vector in zip(file["texts"], file["vectors"], strict=True)}
    asyncio.run(_serve(answers))


if __name__ == "__main__":
    main()
