"""What all tests of documents stand on."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.conf import LazySettings

from embeddings import batching
from tests.documents.embedders import FakeEmbedder, Reply, constant_vector


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: LazySettings) -> None:
    """Hash the passwords of the cast cheaply: no test here is about them."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


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
