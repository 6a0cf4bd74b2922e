"""From settings to an embedder. A provider's code is imported only when it is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from embeddings.port import Embedder, EmbedderMisconfigured, EmbeddingConfig

__all__ = ["MOST_DIMENSIONS", "PROVIDERS", "build_embedder"]

MOST_DIMENSIONS = 4000
"""What pgvector's HNSW index takes for a ``halfvec``."""


def build_embedder(config: EmbeddingConfig) -> Embedder:
    """Return the embedder that the settings name; nothing is loaded or asked over the network yet.

    Raises `EmbedderMisconfigured` with a sentence that names the setting at fault.
    """
    build = PROVIDERS.get(config.provider)
    if build is None:
        raise EmbedderMisconfigured(
            f"EMBEDDING_PROVIDER is {config.provider!r}; it must be one of: {', '.join(sorted(PROVIDERS))}."
        )
    if not config.model.strip():
        raise EmbedderMisconfigured(f"EMBEDDING_MODEL must name the model of the provider {config.provider!r}.")
    if not 1 <= config.dimensions <= MOST_DIMENSIONS:
        raise EmbedderMisconfigured(
            f"EMBEDDING_DIMENSIONS is {config.dimensions}; it must be between 1 and {MOST_DIMENSIONS}."
        )
    if config.threads < 1:
        raise EmbedderMisconfigured(f"EMBEDDING_THREADS is {config.threads}; it must be 1 or more.")
    return build(config)


def _local(config: EmbeddingConfig) -> Embedder:
    from embeddings.providers.local import build  # noqa: PLC0415 - only when chosen

    return build(config)


def _ollama(config: EmbeddingConfig) -> Embedder:
    from embeddings.providers.ollama import build  # noqa: PLC0415 - only when chosen

    return build(config)


def _openai(config: EmbeddingConfig) -> Embedder:
    from embeddings.providers.openai import build  # noqa: PLC0415 - only when chosen

    return build(config)


def _bedrock(config: EmbeddingConfig) -> Embedder:
    from embeddings.providers.bedrock import build  # noqa: PLC0415 - only when chosen

    return build(config)


PROVIDERS: Mapping[str, Callable[[EmbeddingConfig], Embedder]] = {
    "local": _local,
    "ollama": _ollama,
    "openai": _openai,
    "bedrock": _bedrock,
}
