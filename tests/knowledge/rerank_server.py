"""A small server that speaks the common rerank protocol over HTTP, and can misbehave on request."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.embeddings.model_server import ModelServer, Refusal, Reply

FIELDS = {"model", "query", "documents", "top_n"}
Judge = Callable[[str, str], float]


def shared_words(query: str, text: str) -> float:
    """Return the share of the question's words that a text has."""
    words = set(re.findall(r"\w+", query.lower()))
    return len(words & set(re.findall(r"\w+", text.lower()))) / len(words)


class RerankServer(ModelServer):
    """``/v1/rerank``; the best results come first, each with the index of its text and the text itself."""

    prefix = "/v1/rerank"

    def __init__(self, *, model: str = "test-reranker", key: str = "") -> None:
        self.key = key
        super().__init__(model=model, dimensions=1, context=10_000)

    def reset(self) -> None:
        super().reset()
        self.judge: Judge = shared_words

    def texts(self, path: str, request: dict[str, Any]) -> list[str]:
        self.requests.append(request)
        if path != self.prefix:
            raise Refusal(404, "Not Found")
        if self.key and self.headers_seen[-1].get("authorization") != f"Bearer {self.key}":
            raise Refusal(401, "invalid api token")
        if request["model"] != self.model:
            raise Refusal(404, f"model '{request['model']}' not found")
        documents: list[str] = request["documents"]
        if request.keys() - FIELDS or not documents or request["top_n"] > len(documents):
            raise Refusal(422, f"invalid request: {request}")
        return documents

    def vector(self, text: str, request: dict[str, Any]) -> list[float]:
        return [self.judge(request["query"], text)]

    def answer(self, vectors: Any, request: dict[str, Any]) -> Any:
        results = [
            {"index": index, "relevance_score": relevance, "document": {"text": request["documents"][index]}}
            for index, (relevance,) in enumerate(vectors)
        ]
        results.sort(key=lambda result: -result["relevance_score"])
        return {"id": "rerank-1", "model": self.model, "usage": {"total_tokens": 5}, "results": results}

    def error(self, status: int, message: str, code: str) -> Reply:
        return Reply(status, {"message": message})


@contextmanager
def dripping() -> Iterator[str]:
    """Run a server that sends its headers byte by byte and never comes to an end, until the block does."""
    ended = threading.Event()

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Header: ")
                while not ended.wait(0.02):
                    connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/rerank"
        ended.set()
    thread.join()
