"""A small server that speaks OpenAI's embeddings protocol over HTTP, and can misbehave on request."""

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.embeddings.model_server import Fault, ModelServer, Refusal, Reply, text_vector

FIELDS = {"model", "input", "encoding_format", "dimensions", "user"}


class OpenAIServer(ModelServer):
    """``/v1/embeddings``; the vectors come in any order, each with the index of its text."""

    prefix = "/v1"
    faults: ClassVar[Mapping[str, Fault]] = {
        "throttled": Fault(429, "Rate limit reached for requests", code="rate_limit_exceeded"),
        "down": Fault(503, "The server is overloaded or not ready yet.", code="server_error"),
        "refused": Fault(400, "Your input violates the policy.", code="content_policy_violation"),
        "wrong key": Fault(401, "Incorrect API key provided: sk-12*****89.", code="invalid_api_key"),
        "forbidden": Fault(403, "Country, region, or territory not supported", code="unsupported_country"),
        "no model": Fault(404, "The model `x` does not exist or you do not have access to it.", code="model_not_found"),
    }

    def __init__(self, *, model: str, dimensions: int = 8, context: int = 1_000, key: str | None = None) -> None:
        super().__init__(model=model, dimensions=dimensions, context=context)
        self.key = key

    def texts(self, path: str, request: dict[str, Any]) -> list[str]:
        if path != "/v1/embeddings":
            raise Refusal(404, f"Invalid URL (POST {path})")
        self.requests.append(request)
        if self.key and self.headers_seen[-1].get("authorization") != f"Bearer {self.key}":
            raise Refusal(401, "Incorrect API key provided.", "invalid_api_key")
        if request["model"] != self.model:
            raise Refusal(404, f"The model `{request['model']}` does not exist.", "model_not_found")
        if request.keys() - FIELDS:
            raise Refusal(400, f"Unrecognized request argument: {request.keys() - FIELDS}")
        if "dimensions" in request and not self.model.startswith("text-embedding-3"):
            raise Refusal(400, "This model does not support specifying dimensions.")
        texts: list[str] = request["input"]
        if not 0 < len(texts) <= 2_048:
            raise Refusal(400, "Invalid 'input': array too long. Expected an array with maximum length 2048.")
        words = self.count_words(texts)
        if words > self.context:
            raise Refusal(
                400,
                f"This model's maximum context length is {self.context} tokens, however you requested {words} tokens "
                f"({words} in your prompt; 0 for the completion). Please reduce your prompt.",
            )
        return texts

    def vector(self, text: str, request: dict[str, Any]) -> list[float]:
        return text_vector(text, request.get("dimensions", self.dimensions))

    def answer(self, vectors: Any, request: dict[str, Any]) -> Any:
        if not isinstance(vectors, list):
            return {"object": "list", "data": vectors}
        items = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(vectors)]
        usage = {"prompt_tokens": 5, "total_tokens": 5}
        return {"object": "list", "data": items[1::2] + items[0::2], "model": self.model, "usage": usage}

    def error(self, status: int, message: str, code: str) -> Reply:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return Reply(status, {"error": {"message": message, "type": kind, "param": None, "code": code or None}})
