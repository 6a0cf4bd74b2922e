"""Embedding as the other apps use it: the current space, a batch of texts, a query."""

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.conf import settings

from embeddings.batching import EmbeddedText, embed_texts, mean_vector
from embeddings.metrics import CountedEmbedder
from embeddings.models import EmbeddingSpace
from embeddings.port import (
    Embedder,
    EmbedderMisconfigured,
    EmbeddingConfig,
    EmbeddingError,
    EmbeddingRejected,
    Reason,
    TextKind,
    Vector,
)
from embeddings.providers.answers import checked_vectors
from embeddings.query_memory import QueryMemory
from embeddings.registry import build_embedder
from embeddings.spaces import SpaceState, configured_identity, space_status
from soat.core.errors import ServiceUnavailable, SoatError, ValidationFailed

logger = logging.getLogger(__name__)

_wrap: ContextVar[Callable[[Embedder], Embedder] | None] = ContextVar("wrap", default=None)


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """The outcome of a batch, in the order of its texts; ``space`` is None when there is no embedder to use."""

    space: EmbeddingSpace | None
    texts: list[EmbeddedText]


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query and the space it belongs to."""

    space: EmbeddingSpace
    vector: Vector


@functools.cache
def _built(config: EmbeddingConfig) -> Embedder:
    embedder = CountedEmbedder(build_embedder(config))
    return QueryMemory(embedder, settings.EMBEDDING_QUERY_MEMORY) if settings.EMBEDDING_QUERY_MEMORY else embedder


def configured_embedder() -> Embedder:
    """Return the embedder of the settings, one per process. Raises ``EmbedderMisconfigured``."""
    base_url = settings.EMBEDDING_BASE_URL
    if settings.EMBEDDING_PROVIDER == "ollama":
        base_url = base_url or settings.OLLAMA_BASE_URL
    return _built(
        EmbeddingConfig(
            provider=settings.EMBEDDING_PROVIDER,
            model=settings.EMBEDDING_MODEL,
            dimensions=settings.EMBEDDING_DIMENSIONS,
            api_key=settings.EMBEDDING_API_KEY or None,
            base_url=base_url or None,
            region=settings.EMBEDDING_REGION or None,
            timeout=settings.EMBEDDING_TIMEOUT_MS / 1_000,
            query_timeout=settings.EMBEDDING_QUERY_TIMEOUT_MS / 1_000,
            threads=settings.EMBEDDING_THREADS,
        )
    )


@contextmanager
def embedder_wrapped(wrap: Callable[[Embedder], Embedder]) -> Iterator[None]:
    """Have what is embedded in this context go through ``wrap`` of the configured embedder, for measurements."""
    token = _wrap.set(wrap)
    try:
        yield
    finally:
        _wrap.reset(token)


def embed_documents(texts: Sequence[str], *, urgent: bool = False) -> EmbeddedBatch:
    """Embed texts to be stored, best effort: what got no vector carries its error, nothing is raised.

    ``urgent`` (somebody waits) gives up early on a provider that does not answer. Must be called
    without an open transaction.
    """
    status = space_status()
    if status.space is None:
        logger.warning("Stored without vectors: %s", status.message)
        return EmbeddedBatch(None, [EmbeddedText(error=EmbedderMisconfigured(status.message))] * len(texts))
    embedded = _embedded(texts, TextKind.DOCUMENT, urgent=urgent)
    failed = [text.error for text in embedded if text.error is not None]
    if failed:
        logger.warning("%d of %d texts got no vector: %s", len(failed), len(embedded), failed[0])
    return EmbeddedBatch(status.space, embedded)


def embed_query(text: str) -> QueryVector | None:
    """Embed one query, once; None for a query of which the model knows no character.

    Raises ``ServiceUnavailable`` (503) without a provider that answers.
    """
    status = space_status()
    if status.space is None:
        code = "EMBEDDING_NOT_CONFIGURED" if status.state is SpaceState.NOT_CONFIGURED else "EMBEDDING_UNAVAILABLE"
        raise ServiceUnavailable(status.message, code=code)
    (embedded,) = _embedded([text], TextKind.QUERY, urgent=True)
    if isinstance(embedded.error, EmbeddingRejected) and embedded.error.reason is Reason.NO_CONTENT:
        return None
    return QueryVector(status.space, _one_vector(embedded, "query"))


def embed_raw(texts: Sequence[str], *, field: str) -> list[Vector]:
    """Return one vector a text for the raw endpoint.

    Raises ``ServiceUnavailable`` (503), and ``ValidationFailed`` naming ``field`` for a text that no
    vector can be had of.
    """
    if configured_identity() is None:
        raise ServiceUnavailable("There is no embedding provider configured.", code="EMBEDDING_NOT_CONFIGURED")
    return [_one_vector(embedded, field) for embedded in _embedded(texts, TextKind.DOCUMENT, urgent=True)]


def _embedded(texts: Sequence[str], kind: TextKind, *, urgent: bool) -> list[EmbeddedText]:
    """Embed texts; an embedder that cannot be built, or whose vectors cannot be stored, leaves them without any."""
    try:
        embedder = configured_embedder()
    except EmbedderMisconfigured as error:
        return [EmbeddedText(error=error)] * len(texts)
    if (wrap := _wrap.get()) is not None:
        embedder = wrap(embedder)
    embedded = embed_texts(embedder, texts, kind=kind, concurrency=settings.EMBEDDING_CONCURRENCY, urgent=urgent)
    return [_usable(text) for text in embedded]


def _usable(text: EmbeddedText) -> EmbeddedText:
    """Return the text, or its error when one of its vectors is of another length, all zeros or not finite."""
    answers = checked_vectors(text.windows, count=len(text.windows), dimensions=settings.EMBEDDING_DIMENSIONS)
    refused = next((answer for answer in answers if isinstance(answer, EmbeddingRejected)), None)
    return text if refused is None else EmbeddedText(error=refused)


def _one_vector(embedded: EmbeddedText, field: str) -> Vector:
    """Return one vector for a text, of several windows their mean. Raises for the caller, naming ``field``."""
    try:
        if embedded.error is not None:
            raise embedded.error
        return embedded.windows[0] if len(embedded.windows) == 1 else mean_vector(embedded.windows)
    except EmbeddingError as error:
        raise _for_caller(error, field) from error


def _for_caller(error: EmbeddingError, field: str) -> SoatError:
    if error.permanent:
        message = f"cannot be embedded: {error}"
        return ValidationFailed(f"{field} {message}", meta={"fields": {field: message}})
    logger.warning("The embedding provider gives no vector: %s", error)
    return ServiceUnavailable(
        "The embedding provider does not answer; try again later.", code="EMBEDDING_UNAVAILABLE", retry_after=5
    )
