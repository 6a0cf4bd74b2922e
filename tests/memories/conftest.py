"""One memory of project A."""

import pytest

from tests.conftest import Cast
from tests.memories.rest import Record, new_memory


@pytest.fixture
def memory(cast: Cast) -> Record:
    return new_memory(cast.a, name="Prefs")
