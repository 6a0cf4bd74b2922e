"""The provider ``openai``: OpenAI's embeddings endpoint, or any other server that speaks its protocol."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import httpx

from embeddings.port import (
    Answer,
    EmbedderMisconfigured,
    EmbeddingConfig,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    Space,
    TextKind,
)
from embeddings.providers.answers import Row, checked_vectors, in_index_order
from embeddings.providers.openai_refusals import refusal, status_within
from embeddings.providers.per_process import PerProcess
from embeddings.providers.remote import (
    LONGEST_CONNECT,
    LONGEST_WINDOW,
    MOST_CONNECTIONS,
    checked_key,
    checked_url,
    estimated_windows,
    on_loopback,
    parsed,
    read_body,
)
from soat.engine.windows import Span

DEFAULT_URL = "https://api.openai.com/v1"
LOCAL_EXAMPLE = "http://localhost:8000/v1"

SHORTENING = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
"""OpenAI's models that give as many dimensions as they are asked for, and the most they have."""

WHOLE = {"text-embedding-ada-002": 1536}
"""OpenAI's models with a fixed number of dimensions."""

UNKNOWN_CONTEXT = 512
"""Tokens, the input of the usual small models. Other servers do not say, and some cut off what is longer unasked."""


def build(config: EmbeddingConfig) -> OpenAIEmbedder:
    """Return the embedder; the server is first asked when there is something to embed."""
    key = checked_key(config.api_key)
    if config.base_url is None and key is None:
        raise EmbedderMisconfigured(
            f"EMBEDDING_API_KEY is not set; OpenAI asks for one. "
            f"For another server give its address as EMBEDDING_BASE_URL, such as {LOCAL_EXAMPLE}."
        )
    url = checked_url(config.base_url or DEFAULT_URL, example=DEFAULT_URL)
    try:
        httpx.URL(url)
    except httpx.InvalidURL as error:
        raise EmbedderMisconfigured(f"EMBEDDING_BASE_URL is {url!r}: {error}") from error
    _check_dimensions(config.model, config.dimensions)
    return OpenAIEmbedder(config, url=url, key=key)


class OpenAIEmbedder:
    """Embeds through ``POST {url}/embeddings``, over connections that each process opens for itself.

    ``dimensions`` is sent to the models ``text-embedding-3-…`` only: others refuse the field or ignore it, and
    answer with the number of dimensions that they have.
    """

    max_batch = 32
    """OpenAI takes 2,048 texts and 300,000 tokens a request, a text at most 8,191: 32 texts that fit one by one fit
    together. It is also what the common servers for open models take unless they are told otherwise."""

    def __init__(self, config: EmbeddingConfig, *, url: str, key: str | None) -> None:
        self.space = Space("openai", config.model, config.dimensions)
        self._timeout = config.timeout
        self._query_timeout = config.query_timeout
        self._url = url
        self._key = key
        self._server = f"The embedding server at {url}"
        name = _model_name(config.model)
        self._sends_dimensions = name.startswith("text-embedding-3-")
        known = any(name.startswith(model) for model in (*SHORTENING, *WHOLE))
        self._context = LONGEST_WINDOW if known else UNKNOWN_CONTEXT
        self._client = PerProcess(self._connect)

    def _connect(self) -> httpx.Client:
        return httpx.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else None,
            limits=httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS // 2),
            follow_redirects=False,  # the key and the texts go to the address of the settings, nowhere else
            trust_env=not on_loopback(self._url),
        )

    def close(self) -> None:
        """Close this process's connections; a later use opens others."""
        client = self._client.release()
        if client is not None:
            client.close()

    def windows(self, text: str) -> list[Span]:
        """Cut by an estimate in characters: no tokenizer is at hand here."""
        return estimated_windows(text, tokens=self._context)

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        """Embed texts; the protocol knows no kinds. A text that is too long is refused by the server."""
        if not texts:
            return []
        payload = self._ask(texts, self._query_timeout if urgent else self._timeout)
        return checked_vectors(_rows(payload, count=len(texts)), count=len(texts), dimensions=self.space.dimensions)

    def _ask(self, texts: Sequence[str], seconds: float) -> Any:
        """Return the JSON of the answer; raises for an answer that is an error."""
        response, body = self._post(texts, seconds)
        if not response.is_success:
            raise refusal(response.status_code, body, response.headers, server=self._server, key=self._key)
        try:
            payload = parsed(body)
        except ValueError as error:
            raise EmbeddingUnavailable(f"{self._server} answered something else than JSON.") from error
        status = status_within(payload)
        if status is not None:
            raise refusal(status, body, response.headers, server=self._server, key=self._key)
        return payload

    def _post(self, texts: Sequence[str], seconds: float) -> tuple[httpx.Response, bytes]:
        request: dict[str, Any] = {"model": self.space.model, "input": list(texts), "encoding_format": "float"}
        if self._sends_dimensions:
            request["dimensions"] = self.space.dimensions
        timeout = httpx.Timeout(seconds, connect=min(seconds, LONGEST_CONNECT))
        deadline = time.monotonic() + seconds
        client = self._client.get()
        try:
            with client.stream("POST", f"{self._url}/embeddings", json=request, timeout=timeout) as response:
                return response, read_body(response.iter_bytes(), deadline=deadline, server=self._server)
        except httpx.TimeoutException as error:
            raise EmbeddingUnavailable(f"{self._server} did not answer in time.") from error
        except httpx.HTTPError as error:
            raise EmbeddingUnavailable(f"{self._server} is not reachable: {error}") from error


def _model_name(model: str) -> str:
    """Return a model's name without the maker's, which routers between several providers put before it."""
    return model.rpartition("/")[2]


def _check_dimensions(model: str, dimensions: int) -> None:
    most = SHORTENING.get(_model_name(model))
    if most is not None and dimensions > most:
        raise EmbedderMisconfigured(f"EMBEDDING_DIMENSIONS is {dimensions}; the model {model} has at most {most}.")
    whole = WHOLE.get(_model_name(model))
    if whole is not None and dimensions != whole:
        raise EmbedderMisconfigured(f"EMBEDDING_DIMENSIONS is {dimensions}; the model {model} has {whole}.")


def _rows(payload: Any, *, count: int) -> list[Row]:
    """Return the vectors in the order of the texts: by their index, or as they stand where none has one."""
    try:
        items = [(item.get("index"), item["embedding"]) for item in payload["data"]]
        if all(index is None for index, _ in items):
            return [row for _, row in items]
        return in_index_order(items, count=count)
    except (AttributeError, KeyError, TypeError) as error:
        raise EmbeddingRejected(
            Reason.MALFORMED_ANSWER, "The embedding server's answer holds no list of vectors."
        ) from error
