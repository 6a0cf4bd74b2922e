"""Public ids and times as the wire has them."""

import re
from datetime import UTC, datetime

import pytest

from documents.models import Document
from memories.models import Memory, MemoryEntry
from soat.core.ids import new_public_id
from soat.core.models import wire_time
from soat.files.models import File
from soat.tenancy.models import ApiKey, Project, User


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        (User, "user"),
        (Project, "proj"),
        (ApiKey, "key"),
        (File, "file"),
        (Document, "doc"),
        (Memory, "mem"),
        (MemoryEntry, "mem_entry"),
    ],
)
def test_a_row_has_its_public_id_before_it_is_saved(model: type, prefix: str) -> None:
    one, other = model().public_id, model().public_id
    assert re.fullmatch(rf"{prefix}_[A-Za-z0-9]{{16}}", one)
    assert one != other


def test_ids_use_the_whole_alphabet() -> None:
    seen = set("".join(new_public_id("x").removeprefix("x_") for _ in range(500)))
    assert len(seen) == 62


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=UTC), "2026-01-02T03:04:05.678Z"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000Z"),
        (datetime(2026, 12, 31, 23, 59, 59, 999, tzinfo=UTC), "2026-12-31T23:59:59.000Z"),
    ],
)
def test_times_are_utc_with_milliseconds(moment: datetime, written: str) -> None:
    assert wire_time(moment) == written
