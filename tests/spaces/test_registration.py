"""The first one to need a space registers it, once; other settings afterwards change nothing."""

from functools import partial

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, transaction

from embeddings import spaces
from embeddings.models import EmbeddingSpace
from embeddings.spaces import SpaceState, configured_identity, space_status
from tests.memories.crowd import at_once

LOCAL = ("local", "all-MiniLM-L6-v2", 384)


def identities() -> list[tuple[str, str, int, bool]]:
    return list(EmbeddingSpace.objects.order_by("pk").values_list("provider", "model", "dimensions", "is_current"))


def test_an_empty_database_takes_the_configured_space(no_space: None) -> None:
    status = space_status()
    assert (status.state, identities()) == (SpaceState.READY, [(*LOCAL, True)])
    assert status.space == EmbeddingSpace.objects.get()
    assert space_status() == status
    assert len(identities()) == 1


def test_many_at_once_register_one_space(no_space: None) -> None:
    statuses = at_once([space_status] * 16)
    assert {status.state for status in statuses} == {SpaceState.READY}
    assert {status.space for status in statuses} == {EmbeddingSpace.objects.get()}


def test_of_two_different_ones_at_once_one_wins(no_space: None) -> None:
    """A rolling change of the model meets an empty database: still one current space, and one side is told."""

    def register(model: str) -> EmbeddingSpace:
        return spaces._register("local", model, 384)

    found = at_once([partial(register, model) for model in ("one", "two") * 8])
    assert set(found) == {EmbeddingSpace.objects.get()}


def test_a_database_has_one_current_space(db: None) -> None:
    space_status()
    with pytest.raises(IntegrityError), transaction.atomic():
        EmbeddingSpace.objects.create(provider="ollama", model="m", dimensions=3, is_current=True)
    EmbeddingSpace.objects.create(provider="ollama", model="m", dimensions=3)
    with pytest.raises(IntegrityError), transaction.atomic():
        EmbeddingSpace.objects.create(provider="ollama", model="m", dimensions=3)
    with pytest.raises(IntegrityError), transaction.atomic():
        EmbeddingSpace.objects.create(provider="ollama", model="n", dimensions=0)
    assert space_status().space == EmbeddingSpace.objects.get(is_current=True)


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("EMBEDDING_PROVIDER", "", SpaceState.NOT_CONFIGURED),
        ("EMBEDDING_MODEL", "", SpaceState.NOT_CONFIGURED),
        ("EMBEDDING_PROVIDER", "ollama", SpaceState.MISMATCH),
        ("EMBEDDING_MODEL", "all-other-model", SpaceState.MISMATCH),
        ("EMBEDDING_DIMENSIONS", 385, SpaceState.MISMATCH),
    ],
)
def test_other_settings_use_no_space_and_say_why(
    db: None, settings: LazySettings, name: str, value: object, state: SpaceState
) -> None:
    space_status()
    before = identities()
    setattr(settings, name, value)
    status = space_status()
    assert (status.state, status.space) == (state, None)
    assert "EMBEDDING_" in status.message
    if state is SpaceState.MISMATCH:
        assert str(value) in status.message
        assert "local/all-MiniLM-L6-v2 (384 dimensions)" in status.message
    assert identities() == before


def test_the_identity_is_all_three(settings: LazySettings) -> None:
    assert configured_identity() == LOCAL
    settings.EMBEDDING_MODEL = ""
    assert configured_identity() is None
