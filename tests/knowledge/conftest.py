"""One world for all tests of a module: searches change nothing."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.knowledge.world import World, build_world, clear_world


@pytest.fixture(scope="module")
def committed_world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    with django_db_blocker.unblock():
        world = build_world()
    yield world
    with django_db_blocker.unblock():
        clear_world()


@pytest.fixture
def world(committed_world: World, db: None) -> World:
    """The world, in a test that is rolled back."""
    return committed_world
