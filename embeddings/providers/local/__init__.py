"""The provider ``local``: a small model on the CPU of this process, without a server, a key or a download."""

from embeddings.port import EmbedderMisconfigured, EmbeddingConfig
from embeddings.providers.local.embedder import LocalEmbedder
from embeddings.providers.local.models import MODELS

__all__ = ["build"]


def build(config: EmbeddingConfig) -> LocalEmbedder:
    """Return the embedder; the model itself is loaded at its first use, in the process that uses it."""
    model = MODELS.get(config.model)
    if model is None:
        raise EmbedderMisconfigured(
            f"EMBEDDING_MODEL is {config.model!r}; the provider local has only {' and '.join(map(repr, MODELS))}."
        )
    if config.dimensions != model.dimensions:
        raise EmbedderMisconfigured(
            f"EMBEDDING_DIMENSIONS is {config.dimensions}; the model {model.name} has {model.dimensions} dimensions."
        )
    return LocalEmbedder(model, threads=config.threads)
