"""A small server that speaks Ollama's embedding protocol over HTTP, and can misbehave on request."""

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.embeddings.model_server import Fault, ModelServer, Refusal, Reply


class OllamaServer(ModelServer):
    """``/api/embed``, and ``/api/show`` for the length of the model's input."""

    faults: ClassVar[Mapping[str, Fault]] = {
        "throttled": Fault(429, "slow down"),
        "down": Fault(503, "loading"),
        "refused": Fault(400, "no"),
        "wrong key": Fault(401, "unauthorized"),
        "forbidden": Fault(403, "forbidden"),
        "no model": Fault(404, 'model "x" not found, try pulling it first'),
    }

    def __init__(self, *, model: str = "test-embed", dimensions: int = 8, context: int = 256) -> None:
        super().__init__(model=model, dimensions=dimensions, context=context)

    def reply(self, path: str, request: dict[str, Any]) -> tuple[Reply, Fault]:
        if path == "/api/show":
            return Reply(200, {"model_info": {"bert.context_length": self.context}}), Fault()
        return super().reply(path, request)

    def texts(self, path: str, request: dict[str, Any]) -> list[str]:
        if path != "/api/embed":
            raise Refusal(404, "404 page not found")
        self.requests.append(request)
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        if request["model"] != self.model:
            raise Refusal(404, f'model "{request["model"]}" not found, try pulling it first')
        if request.get("truncate") is False and self.count_words(texts) > self.context:
            raise Refusal(400, "the input length exceeds the context length")
        return list(texts)

    def answer(self, vectors: Any, request: dict[str, Any]) -> Any:
        return {"model": self.model, "embeddings": vectors, "total_duration": 1_000}

    def error(self, status: int, message: str, code: str) -> Reply:
        return Reply(status, {"error": message})
