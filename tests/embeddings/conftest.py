"""The two providers, ready to use."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from embeddings.port import EmbeddingConfig
from embeddings.providers.local.embedder import LocalEmbedder
from embeddings.providers.ollama import OllamaEmbedder
from tests.embeddings.ollama_server import OllamaServer, running_server


@pytest.fixture(scope="session")
def local() -> LocalEmbedder:
    return LocalEmbedder(threads=2)


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def config(server: OllamaServer) -> EmbeddingConfig:
    return EmbeddingConfig("ollama", server.model, server.dimensions, timeout=5.0, query_timeout=0.3)


@pytest.fixture
def ollama(server: OllamaServer, config: EmbeddingConfig) -> Iterator[OllamaEmbedder]:
    embedder = OllamaEmbedder(replace(config, base_url=server.url), server.url)
    yield embedder
    embedder.close()
