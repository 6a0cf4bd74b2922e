"""The provider ``local``: a small model on the CPU of this process, without a server, a key or a download."""

from embeddings.port import EmbedderMisconfigured, EmbeddingConfig
from embeddings.providers.local.assets import DIMENSIONS, MODEL
from embeddings.providers.local.embedder import LocalEmbedder

__all__ = ["build"]


def build(config: EmbeddingConfig) -> LocalEmbedder:
    """Return the embedder; the model itself is loaded at its first use, in the process that uses it."""
    if config.model != MODEL:
        raise EmbedderMisconfigured(f"EMBEDDING_MODEL is {config.model!r}; the provider local has only {MODEL!r}.")
    if config.dimensions != DIMENSIONS:
        raise EmbedderMisconfigured(
            f"EMBEDDING_DIMENSIONS is {config.dimensions}; the model {MODEL} has {DIMENSIONS} dimensions."
        )
    return LocalEmbedder(threads=config.threads)
