"""The memory's row is the lock: writers wait for it, not for ever, and readers never."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from rest_framework.test import APIClient

from memories import services
from memories.models import Memory, MemoryEntry
from memories.services import IncomingFact, WriteAction, write_entry
from tests.conftest import Cast
from tests.memories.crowd import PATIENCE, assert_whole, holding
from tests.memories.rest import ENTRIES, MEMORIES, assert_error, entry_of, listed, write

FACT = "Alice manages Bob"


@pytest.fixture
def memory(committed_cast: Cast) -> Memory:
    return Memory.objects.create(project=committed_cast.project_a, name="Facts")


Act = Callable[[APIClient, str, str], Any]
WRITES: dict[str, Act] = {
    "create": lambda a, memory, entry: a.post(ENTRIES, {"memory_id": memory, "content": "x"}, format="json"),
    "skip": lambda a, memory, entry: a.post(ENTRIES, {"memory_id": memory, "content": FACT}, format="json"),
    "edit": lambda a, memory, entry: a.put(f"{ENTRIES}/{entry}", {"content": "y"}, format="json"),
    "tag": lambda a, memory, entry: a.put(f"{ENTRIES}/{entry}", {"tags": ["t"]}, format="json"),
    "delete": lambda a, memory, entry: a.delete(f"{ENTRIES}/{entry}"),
    "rename": lambda a, memory, entry: a.put(f"{MEMORIES}/{memory}", {"name": "New"}, format="json"),
    "delete memory": lambda a, memory, entry: a.delete(f"{MEMORIES}/{memory}"),
}


def test_a_lock_that_is_not_had_in_time_is_a_busy_resource(
    committed_cast: Cast, memory: Memory, settings: LazySettings
) -> None:
    a = committed_cast.a
    entry = write(a, memory.public_id, FACT)["id"]
    settings.LOCK_TIMEOUT_MS = 100
    before = (entry_of(a, entry), a.get(f"{MEMORIES}/{memory.public_id}").json())
    with holding(memory):
        for act in WRITES.values():
            started = time.monotonic()
            answer = act(a, memory.public_id, entry)
            assert_error(answer, 503, "RESOURCE_BUSY")
            assert int(answer.headers["Retry-After"]) >= 1
            assert 0.1 <= time.monotonic() - started < 5
        assert [row["id"] for row in listed(a, memory.public_id)] == [entry]
        found = a.post("/api/v1/knowledge/search", {"query": FACT, "memory_ids": [memory.public_id]}, format="json")
        assert [row["entry_id"] for row in found.json()["results"]] == [entry]
    assert (entry_of(a, entry), a.get(f"{MEMORIES}/{memory.public_id}").json()) == before
    for name, act in WRITES.items():
        assert act(a, memory.public_id, entry).status_code in {200, 201, 204, 404}, name
    assert not Memory.objects.exists()


def test_another_memory_does_not_wait(committed_cast: Cast, memory: Memory, settings: LazySettings) -> None:
    other = Memory.objects.create(project=committed_cast.project_a, name="Other")
    settings.LOCK_TIMEOUT_MS = 100
    with holding(memory):
        assert write(committed_cast.a, other.public_id, FACT)["action"] == "created"


def test_a_writer_waits_for_the_one_before_it(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first holds the lock with its decision made and nothing written. Without the lock the second would create."""
    deciding, released = threading.Event(), threading.Event()
    real = services._insert_entry

    def insert(*args: Any) -> MemoryEntry:
        if not deciding.is_set():
            deciding.set()
            assert released.wait(PATIENCE)
        return real(*args)

    monkeypatch.setattr(services, "_insert_entry", insert)

    def say() -> WriteAction:
        try:
            return write_entry(memory=memory, fact=IncomingFact(FACT)).action
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(say)
        assert deciding.wait(PATIENCE)
        second = pool.submit(say)
        time.sleep(0.5)
        early = second.done()
        released.set()
        outcomes = (first.result(PATIENCE), second.result(PATIENCE))
    assert not early
    assert outcomes == (WriteAction.CREATED, WriteAction.SKIPPED)
    assert MemoryEntry.objects.count() == 1
    assert_whole()


def test_an_edit_waits_for_a_writer(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = write_entry(memory=memory, fact=IncomingFact("Alice manages Carol")).entry
    deciding, released = threading.Event(), threading.Event()
    real = services._written

    def written(*args: Any) -> Any:
        deciding.set()
        assert released.wait(PATIENCE)
        return real(*args)

    monkeypatch.setattr(services, "_written", written)

    def act(what: Callable[[], Any]) -> Any:
        try:
            return what()
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        writer = pool.submit(act, lambda: write_entry(memory=memory, fact=IncomingFact(FACT)))
        assert deciding.wait(PATIENCE)
        editor = pool.submit(act, lambda: services.update_entry(entry=entry, changes={"content": FACT}))
        time.sleep(0.3)
        early = editor.done()
        released.set()
        assert writer.result(PATIENCE).entry.revision == 2
        assert editor.result(PATIENCE).revision == 3
    assert not early
    assert_whole()
