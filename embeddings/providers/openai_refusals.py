"""What an error answer of OpenAI, or of a server that speaks its protocol, means for us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from embeddings.port import (
    EmbedderMisconfigured,
    EmbeddingError,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
)
from embeddings.providers.answers import retry_after_seconds
from embeddings.providers.remote import PASSING, parsed, quoted

SAYS_TOO_LONG = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.INTERNAL_SERVER_ERROR)
"""Statuses that servers have for a text that is too long, beside 413, and for much else."""

TOO_LONG_SIGNS = (
    "context length",
    "context_length",
    "context size",
    "input length",
    "maximum length",
    "tokens per request",
    "too large to process",
    "too long",
    "must have less than",
    "exceeding max",
)
LARGER_THAN_THE_LIMIT = "request too large"
"""What OpenAI says, as a 429, to a request that is larger than the account's tokens per minute: only less can heal."""

NO_QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
NO_MODEL = {"model_not_found", "invalid_model"}
NO_MODEL_SIGNS = ("does not support embed", "model does not exist", "not an embedding model")

CHECK_KEY = "Check EMBEDDING_API_KEY and what it may use."
CHECK_QUOTA = "The account has no quota left: its owner must look at its plan and billing."
CHECK_MODEL = "EMBEDDING_MODEL must name an embedding model of this server."
CHECK_ADDRESS = f"{CHECK_MODEL} EMBEDDING_BASE_URL must be its address without the /embeddings at the end."
CHECK_DIMENSIONS = "EMBEDDING_DIMENSIONS must be a number of dimensions that the model has."
NO_REDIRECTS = "Redirects are not followed: EMBEDDING_BASE_URL must be the server's own address."

ADVICE = {
    HTTPStatus.UNAUTHORIZED: CHECK_KEY,
    HTTPStatus.PAYMENT_REQUIRED: CHECK_QUOTA,
    HTTPStatus.FORBIDDEN: CHECK_KEY,
    HTTPStatus.NOT_FOUND: CHECK_ADDRESS,
    HTTPStatus.METHOD_NOT_ALLOWED: CHECK_ADDRESS,
}


@dataclass(frozen=True, slots=True)
class _Said:
    """A server's error: its words, and its ``code`` and ``type`` where it has them; no JSON, no ``codes``."""

    message: str
    codes: frozenset[str] = frozenset()
    json: bool = True

    def has_sign(self, signs: tuple[str, ...]) -> bool:
        lowered = self.message.lower()
        return any(sign in lowered for sign in signs)


def refusal(status: int, body: bytes, headers: Mapping[str, str], *, server: str, key: str | None) -> EmbeddingError:
    """Return the error that an answer with an error status means; ``key`` never stands in it."""
    said = _said(body)
    sentence = f"{server} answered {status}"
    if status != HTTPStatus.UNAUTHORIZED:  # its message often shows parts of the key
        sentence = f"{sentence}: {quoted(said.message, key=key)}"
    if _is_too_long(status, said):
        return EmbeddingRejected(Reason.TOO_LONG, sentence)
    advice = _advice(status, said)
    if advice is not None:
        return EmbedderMisconfigured(f"{sentence.rstrip('.')}. {advice}")
    if status in PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR or not said.json:
        return EmbeddingUnavailable(sentence, retry_after=_retry_after(headers))
    return EmbeddingRejected(Reason.REFUSED, sentence)


def status_within(payload: Any) -> int | None:
    """Return the status of an error that came as a 200, as routers send it when their own provider failed."""
    if not isinstance(payload, dict) or "data" in payload or not isinstance(payload.get("error"), dict):
        return None
    code = payload["error"].get("code")
    known = isinstance(code, float) and code >= HTTPStatus.BAD_REQUEST and code in set(HTTPStatus)
    return int(code) if known else HTTPStatus.BAD_GATEWAY


def _said(body: bytes) -> _Said:
    """Read ``{"error": {"message", "type", "code"}}`` and the shapes that other servers have for it."""
    try:
        payload = parsed(body)
    except ValueError:
        return _Said(body.decode(errors="replace"), json=False)
    inner = payload.get("error", payload) if isinstance(payload, dict) else payload
    if not isinstance(inner, dict):
        return _Said(str(inner))
    message = next((inner[name] for name in ("message", "detail", "error") if inner.get(name)), inner)
    codes = {value for name in ("code", "type") if isinstance(value := inner.get(name), str)}
    return _Said(str(message), frozenset(codes))


def _is_too_long(status: int, said: _Said) -> bool:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return said.message.lower().startswith(LARGER_THAN_THE_LIMIT)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    return status in SAYS_TOO_LONG and ("context_length_exceeded" in said.codes or said.has_sign(TOO_LONG_SIGNS))


def _advice(status: int, said: _Said) -> str | None:
    """Return what the operator must look at, None where the settings are not at fault."""
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return NO_REDIRECTS
    if said.codes & NO_QUOTA:
        return CHECK_QUOTA
    if said.codes & NO_MODEL or (status == HTTPStatus.BAD_REQUEST and said.has_sign(NO_MODEL_SIGNS)):
        return CHECK_MODEL
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY) and said.has_sign(("dimensions",)):
        return CHECK_DIMENSIONS
    return ADVICE.get(HTTPStatus(status)) if status in set(HTTPStatus) else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Read ``retry-after-ms``, which OpenAI and Azure send for short waits, or else ``Retry-After``."""
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.isdecimal():
        return float(milliseconds) / 1_000
    return retry_after_seconds(headers.get("retry-after"))
