"""The providers, ready to use: the local one, and the remote ones each with a server that speaks its protocol."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol

import pytest

from embeddings.port import Embedder, EmbedderMisconfigured, EmbeddingConfig
from embeddings.providers import bedrock as bedrock_provider
from embeddings.providers import ollama as ollama_provider
from embeddings.providers import openai as openai_provider
from embeddings.providers.local import assets
from embeddings.providers.local.embedder import LocalEmbedder
from embeddings.providers.local.models import MINILM, MULTILINGUAL_E5
from embeddings.providers.ollama import OllamaEmbedder
from tests.embeddings.bedrock_server import BedrockServer
from tests.embeddings.model_server import ModelServer, running
from tests.embeddings.ollama_server import OllamaServer
from tests.embeddings.openai_server import OpenAIServer

KEY = "test-key-0123456789"


class ClosableEmbedder(Embedder, Protocol):
    def close(self) -> None: ...


BUILD: dict[str, Callable[[EmbeddingConfig], ClosableEmbedder]] = {
    "ollama": ollama_provider.build,
    "openai": openai_provider.build,
    "bedrock": bedrock_provider.build,
}


@dataclass(frozen=True)
class Remote:
    """A remote provider under test: its server, its settings and an embedder made of them."""

    server: ModelServer
    config: EmbeddingConfig
    embedder: ClosableEmbedder

    def build(self, **changes: object) -> ClosableEmbedder:
        """Return another embedder, with other settings."""
        return built(replace(self.config, **changes))  # type: ignore[arg-type]


def built(config: EmbeddingConfig) -> ClosableEmbedder:
    """Return the embedder of some settings."""
    return BUILD[config.provider](config)


SERVERS: dict[str, tuple[str, Callable[[], ModelServer]]] = {
    "ollama": ("ollama", OllamaServer),
    "openai": ("openai", lambda: OpenAIServer(model="text-embedding-3-small")),
    "compatible": ("openai", lambda: OpenAIServer(model="nomic-ai/test-embed", context=400)),
    "titan_v1": ("bedrock", lambda: BedrockServer(model="amazon.titan-embed-text-v1", dimensions=1_536)),
    "titan_v2": ("bedrock", lambda: BedrockServer(model="amazon.titan-embed-text-v2:0", dimensions=256)),
    "cohere_v3": (
        "bedrock",
        lambda: BedrockServer(model="cohere.embed-multilingual-v3", dimensions=1_024, context=400),
    ),
    "cohere_v4": ("bedrock", lambda: BedrockServer(model="eu.cohere.embed-v4:0", dimensions=256)),
}
"""By name, the provider and the server of every remote model that the contract is tested with."""


@pytest.fixture(scope="package", autouse=True)
def no_aws_settings_from_outside() -> Iterator[None]:
    """Keep the machine's own AWS configuration, credentials and role out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session")
def remotes() -> Iterator[Callable[[str], Remote]]:
    """Give the remote provider of a name, started at its first use and reset at every other."""
    started: dict[str, Remote] = {}
    with ExitStack() as stack:

        def get(name: str) -> Remote:
            if name not in started:
                provider, make = SERVERS[name]
                server = stack.enter_context(running(make()))
                config = EmbeddingConfig(
                    provider,
                    server.model,
                    server.dimensions,
                    api_key=KEY,
                    base_url=server.url,
                    region="eu-central-1" if provider == "bedrock" else None,
                    timeout=5.0,
                    query_timeout=0.2,
                )
                embedder = built(config)
                stack.callback(embedder.close)
                started[name] = Remote(server, config, embedder)
            started[name].server.reset()
            return started[name]

        yield get


@pytest.fixture(scope="session")
def local() -> LocalEmbedder:
    return LocalEmbedder(MINILM, threads=2)


@pytest.fixture(scope="session")
def multilingual() -> LocalEmbedder:
    """The larger local model, where the optional package that holds it is installed."""
    try:
        assets.e5_weights()
    except EmbedderMisconfigured as error:
        pytest.skip(str(error))
    return LocalEmbedder(MULTILINGUAL_E5, threads=2)


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with running(OllamaServer()) as server:
        yield server


@pytest.fixture
def config(server: OllamaServer) -> EmbeddingConfig:
    return EmbeddingConfig("ollama", server.model, server.dimensions, timeout=5.0, query_timeout=0.3)


@pytest.fixture
def ollama(server: OllamaServer, config: EmbeddingConfig) -> Iterator[OllamaEmbedder]:
    embedder = OllamaEmbedder(replace(config, base_url=server.url), server.url)
    yield embedder
    embedder.close()
