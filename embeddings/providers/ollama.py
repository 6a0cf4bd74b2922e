"""The provider ``ollama``: a model behind an Ollama server's ``/api/embed``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

import httpx
from ollama import Client

from embeddings.port import (
    Answer,
    EmbedderMisconfigured,
    EmbeddingConfig,
    EmbeddingError,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    Space,
    TextKind,
)
from embeddings.providers.answers import checked_vectors, retry_after_seconds
from embeddings.providers.per_process import PerProcess
from embeddings.providers.remote import (
    LONGEST_CONNECT,
    checked_key,
    checked_url,
    estimated_windows,
    on_loopback,
    quoted,
)
from soat.engine.windows import Span

DEFAULT_URL = "http://localhost:11434"
ALWAYS_FITS = 500
"""Characters that any model's input takes in all but odd scripts."""

UNKNOWN_CONTEXT = 512
"""Tokens, the input of the usual small models, where the server does not say."""

TOO_LONG_SIGNS = ("context length", "input length", "too large to process")
NOT_FINITE_SIGN = "unsupported value"
"""What the server says, as a 500, when the model's vector holds NaN or infinity."""

PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
WRONG_MODEL_SIGNS = ("does not support embed", "invalid model")


def build(config: EmbeddingConfig) -> OllamaEmbedder:
    """Return the embedder; the server is first asked when there is something to embed."""
    url = config.base_url or DEFAULT_URL
    return OllamaEmbedder(
        config, checked_url(url, example=DEFAULT_URL, setting="EMBEDDING_BASE_URL or OLLAMA_BASE_URL")
    )


@dataclass(frozen=True, slots=True)
class _Clients:
    patient: Client
    urgent: Client


class OllamaEmbedder:
    """Embeds through an Ollama server, over connections that each process opens for itself."""

    max_batch = 32

    def __init__(self, config: EmbeddingConfig, url: str) -> None:
        self.space = Space("ollama", config.model, config.dimensions)
        self._config = config
        self._key = checked_key(config.api_key)
        self._url = url
        self._clients = PerProcess(self._connect)
        self._context: int | None = None

    def _connect(self) -> _Clients:
        return _Clients(patient=self._client(self._config.timeout), urgent=self._client(self._config.query_timeout))

    def _client(self, timeout: float) -> Client:
        return Client(
            self._url,
            timeout=httpx.Timeout(timeout, connect=min(timeout, LONGEST_CONNECT)),
            headers={"Authorization": f"Bearer {self._key}"} if self._key else None,
            event_hooks={"response": [self._raise_refusal]},
            follow_redirects=False,
            trust_env=not on_loopback(self._url),
        )

    def close(self) -> None:
        """Close this process's connections; a later use opens others."""
        clients = self._clients.release()
        if clients is not None:
            clients.patient.close()  # type: ignore[no-untyped-call]
            clients.urgent.close()  # type: ignore[no-untyped-call]

    def windows(self, text: str) -> list[Span]:
        """Cut by an estimate of the model's input in characters; the server's word decides in the end."""
        if len(text) <= ALWAYS_FITS:
            return [Span(0, len(text))]
        return estimated_windows(text, tokens=self._context_tokens())

    def _context_tokens(self) -> int:
        """Return the model's input length as the server tells it, asked once; a guess while it does not answer."""
        if self._context is None:
            try:
                shown = self._clients.get().urgent.show(self._config.model).modelinfo or {}
            except (EmbeddingError, httpx.HTTPError, ConnectionError, TypeError, ValueError):
                return UNKNOWN_CONTEXT
            told = [value for key, value in shown.items() if key.endswith(".context_length")]
            known = told[0] if told and isinstance(told[0], int) and told[0] > 0 else UNKNOWN_CONTEXT
            self._context = known
        return self._context

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        """Embed texts; the server knows no kinds. It is told not to truncate, so that what is too long is refused."""
        if not texts:
            return []
        clients = self._clients.get()
        client = clients.urgent if urgent else clients.patient
        try:
            response = client.embed(self._config.model, list(texts), truncate=False)
        except httpx.TimeoutException as error:
            raise EmbeddingUnavailable(f"Ollama at {self._url} did not answer in time.") from error
        except (httpx.HTTPError, ConnectionError) as error:
            raise EmbeddingUnavailable(f"Ollama at {self._url} is not reachable: {error}") from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise EmbeddingUnavailable(f"What answered at {self._url} is not Ollama: no JSON.") from error
        except (TypeError, ValueError) as error:  # the client's, for JSON of another shape
            raise EmbeddingRejected(Reason.MALFORMED_ANSWER, "Ollama's answer holds no list of vectors.") from error
        return checked_vectors(response.embeddings, count=len(texts), dimensions=self.space.dimensions)

    def _raise_refusal(self, response: httpx.Response) -> None:
        """Turn an error answer into our own error while its headers are at hand; the client would drop them."""
        if response.status_code < HTTPStatus.MULTIPLE_CHOICES:
            return
        response.read()
        message = quoted(_message(response), key=self._key)
        retry_after = retry_after_seconds(response.headers.get("Retry-After"))
        raise _refusal(response.status_code, message, retry_after)


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return response.text


def _refusal(status: int, message: str, retry_after: float | None) -> EmbeddingError:
    said = f"Ollama answered {status}: {message}"
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or any(sign in message for sign in TOO_LONG_SIGNS):
        return EmbeddingRejected(Reason.TOO_LONG, said)
    if NOT_FINITE_SIGN in message:
        return EmbeddingRejected(Reason.NOT_FINITE, said)
    if status in PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return EmbeddingUnavailable(said, retry_after=retry_after)
    advice = _advice(status, message)
    return EmbedderMisconfigured(f"{said}. {advice}") if advice else EmbeddingRejected(Reason.REFUSED, said)


def _advice(status: int, message: str) -> str | None:
    """Return which setting is at fault, None where it is the text."""
    if status < HTTPStatus.BAD_REQUEST:
        return "Redirects are not followed: EMBEDDING_BASE_URL must name the server."
    if status == HTTPStatus.NOT_FOUND or any(sign in message for sign in WRONG_MODEL_SIGNS):
        return "EMBEDDING_MODEL must name an embedding model that this server has."
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "Check EMBEDDING_API_KEY."
    return None
