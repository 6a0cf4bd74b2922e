"""The whole examination, in the order in which one thing stands on another."""

from collections.abc import Iterator

from soat.operations.doctor.background import check_background, check_work
from soat.operations.doctor.configuration import check_address, check_configuration
from soat.operations.doctor.database import check_database
from soat.operations.doctor.files import check_files
from soat.operations.doctor.findings import Finding
from soat.operations.doctor.space import check_embedder, check_space


def examine() -> Iterator[Finding]:
    """Yield all findings. What needs tables is left out where they cannot be read."""
    yield from check_configuration()
    tables_are_there = yield from check_database()
    if tables_are_there:
        yield from check_space()
    yield from check_embedder()
    yield from check_files()
    yield from check_background()
    if tables_are_there:
        yield from check_work()
    yield from check_address()
