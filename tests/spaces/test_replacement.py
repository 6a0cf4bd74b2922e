"""A space that nothing is stored in gives way to the one of the settings."""

import pytest
from django.conf import LazySettings

from embeddings.models import EmbeddingSpace
from embeddings.spaces import SpaceState, replace_empty_space, space_status
from tests.conftest import Cast
from tests.memories.rest import new_memory, write


def current() -> tuple[str, int]:
    space = EmbeddingSpace.objects.get(is_current=True)
    return space.model, space.dimensions


@pytest.mark.django_db
def test_an_empty_space_is_replaced_by_that_of_the_settings(settings: LazySettings) -> None:
    assert space_status().state is SpaceState.READY
    assert not replace_empty_space()
    settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS = "another-model", 768
    assert space_status().state is SpaceState.MISMATCH
    assert replace_empty_space()
    assert current() == ("another-model", 768)
    settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS = "all-MiniLM-L6-v2", 384
    assert replace_empty_space()
    assert current() == ("all-MiniLM-L6-v2", 384)
    assert EmbeddingSpace.objects.count() == 2


def test_a_space_that_holds_a_vector_stays(cast: Cast, settings: LazySettings) -> None:
    write(cast.a, new_memory(cast.a)["id"], "Alice likes tea.")
    settings.EMBEDDING_MODEL = "another-model"
    assert not replace_empty_space()
    assert current() == ("all-MiniLM-L6-v2", 384)
    settings.EMBEDDING_PROVIDER = ""
    assert not replace_empty_space()
