"""A small server that speaks Bedrock's InvokeModel over HTTP, and can misbehave on request."""

import re
from collections.abc import Mapping, Set
from typing import Any, ClassVar
from urllib.parse import unquote

from tests.embeddings.model_server import Fault, ModelServer, Refusal, Reply, text_vector

INVALID = "ValidationException"
INVOKE = re.compile(r"/model/([^/]+)/invoke")


class BedrockServer(ModelServer):
    """``POST /model/{modelId}/invoke`` for one model, whose family shows in its id."""

    faults: ClassVar[Mapping[str, Fault]] = {
        "throttled": Fault(429, "Too many requests, please wait before trying again.", code="ThrottlingException"),
        "down": Fault(503, "Bedrock is unable to process your request.", code="ServiceUnavailableException"),
        "refused": Fault(400, "The input was filtered.", code=INVALID),
        "wrong key": Fault(401, "Authentication failed.", code="UnrecognizedClientException"),
        "forbidden": Fault(403, "You don't have access to the model.", code="AccessDeniedException"),
        "no model": Fault(404, "Model not found.", code="ResourceNotFoundException"),
    }

    def __init__(self, *, model: str, dimensions: int, context: int = 1_000) -> None:
        super().__init__(model=model, dimensions=dimensions, context=context)
        self.models_asked: list[str] = []

    def texts(self, path: str, request: dict[str, Any]) -> list[str]:
        found = INVOKE.fullmatch(path)
        if found is None:
            raise Refusal(404, "Unknown operation", "UnknownOperationException")
        self.requests.append(request)
        self.models_asked.append(unquote(found[1]))
        if self.models_asked[-1] != self.model:
            raise Refusal(400, "The provided model identifier is invalid.", INVALID)
        return self._titan(request) if "titan" in self.model else self._cohere(request)

    def _titan(self, request: dict[str, Any]) -> list[str]:
        second = {"dimensions", "normalize", "embeddingTypes"} if "v2" in self.model else set()
        _refuse_keys(request, required={"inputText"}, known={"inputText"} | second)
        if request.get("dimensions", 1024) not in (256, 512, 1024):
            raise _malformed("#/dimensions: it is not a valid enum value")
        text = request["inputText"]
        if len(text) > 50_000:
            raise _malformed(f"expected maxLength: 50000, actual: {len(text)}")
        if self.count_words([text]) > self.context:
            raise Refusal(400, f"400 Bad Request: Too many input tokens. Max input tokens: {self.context}", INVALID)
        return [text]

    def _cohere(self, request: dict[str, Any]) -> list[str]:
        fourth = {"output_dimension", "max_tokens"} if "v4" in self.model else set()
        known = {"texts", "input_type", "truncate", "embedding_types"} | fourth
        _refuse_keys(request, required={"texts", "input_type"}, known=known)
        texts: list[str] = request["texts"]
        if len(texts) > 96:
            raise _malformed(f"#/texts: expected maximum item count: 96, found: {len(texts)}")
        longest = max(map(len, texts))
        if "v3" in self.model and longest > 2_048:
            raise _malformed(f"#/texts/0: expected maxLength: 2048, actual: {longest}")
        if request["truncate"] == "NONE" and self.count_words(texts) > self.context:
            raise Refusal(400, "Input is too long for requested model.", INVALID)
        return texts

    def vector(self, text: str, request: dict[str, Any]) -> list[float]:
        kind = request.get("input_type", "")
        dimensions = request.get("dimensions", request.get("output_dimension", self.dimensions))
        return text_vector(f"search_query: {text}" if kind == "search_query" else text, dimensions)

    def answer(self, vectors: Any, request: dict[str, Any]) -> Any:
        if "titan" not in self.model:
            embeddings = {"float": vectors} if request.get("embedding_types") else vectors
            return {"id": "1", "embeddings": embeddings, "response_type": "embeddings_by_type", "texts": []}
        counted: dict[str, Any] = {"inputTextTokenCount": 5}
        return {"embedding": vectors[0], "embeddingsByType": {"float": vectors[0]}, **counted} if vectors else counted

    def error(self, status: int, message: str, code: str) -> Reply:
        kind = f"{code}:http://internal.amazon.com/coral/com.amazon.bedrock/"
        return Reply(status, {"message": message}, {"x-amzn-ErrorType": kind} if code else {})


def _refuse_keys(request: dict[str, Any], *, required: Set[str], known: Set[str]) -> None:
    missing = [f"required key [{key}] not found" for key in required - request.keys()]
    extra = [f"extraneous key [{key}] is not permitted" for key in request.keys() - known]
    if missing or extra:
        raise _malformed("#: ".join(missing + extra))


def _malformed(what: str) -> Refusal:
    return Refusal(400, f"Malformed input request: {what}, please reformat your input and try again.", INVALID)
