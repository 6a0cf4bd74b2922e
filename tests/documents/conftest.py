"""What all tests of documents stand on."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from embeddings import batching
from tests.documents.embedders import FakeEmbedder, Reply, constant_vector


@pytest.fixture
def use_embedder(monkeypatch: pytest.MonkeyPatch) -> Callable[[Reply], FakeEmbedder]:
    """Put a fake embedder in the place of the model; nobody waits between its failures."""
    for name in ("BULK", "URGENT"):
        patience = getattr(batching, name)
        monkeypatch.setattr(batching, name, replace(patience, first_wait=0.0, longest_wait=0.0))

    def use(reply: Reply) -> FakeEmbedder:
        embedder = FakeEmbedder(reply)
        monkeypatch.setattr("embeddings.services.configured_embedder", lambda: embedder)
        return embedder

    return use


@pytest.fixture
def free_embedder(use_embedder: Callable[[Reply], FakeEmbedder]) -> FakeEmbedder:
    """An embedder that costs nothing and gives every text the same vector."""
    return use_embedder(constant_vector)
