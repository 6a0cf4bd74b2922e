"""Races with real threads over real HTTP: no fact twice, none lost, nothing left behind."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from memories.models import EntryVector, Memory, MemoryEntry
from tests.conftest import Cast
from tests.memories.crowd import assert_whole, at_once, serving

Answer = httpx.Response
SKIPS = {"identical_text", "similar"}


@pytest.fixture
def memory(committed_cast: Cast) -> Memory:
    return Memory.objects.create(project=committed_cast.project_a, name="Facts")


@pytest.fixture
def server(committed_cast: Cast) -> Iterator[httpx.Client]:
    with serving(committed_cast.key_a) as client:
        yield client


def writing(server: httpx.Client, memory: Memory, content: str, **fields: Any) -> Callable[[], Answer]:
    body = {"memory_id": memory.public_id, "content": content, **fields}
    return lambda: server.post("/memory-entries", json=body)


def actions(answers: list[Answer]) -> Counter[str]:
    assert {answer.status_code for answer in answers} <= {200, 201}, [answer.text for answer in answers]
    return Counter(answer.json()["action"] for answer in answers)


def test_fifty_writers_of_one_fact_make_one_entry(server: httpx.Client, memory: Memory) -> None:
    answers = at_once([writing(server, memory, "Alice manages Bob") for _ in range(50)])
    assert actions(answers) == {"created": 1, "skipped": 49}
    assert {answer.json()["id"] for answer in answers} == {MemoryEntry.objects.get().public_id}
    assert {answer.json()["reason"] for answer in answers} <= {*SKIPS, "no_candidate"}
    assert Memory.objects.get().revision == 1
    assert_whole()


def test_equal_and_different_facts_at_once(server: httpx.Client, memory: Memory) -> None:
    facts = [f"Room {number} has {number} seats" for number in range(8)]
    spelled: list[Callable[[str], str]] = [
        str.lower,
        str.upper,
        lambda text: f" {text}!",
        lambda text: text.replace(" ", "\n\t"),
        str,
    ]
    answers = at_once([writing(server, memory, spell(fact)) for fact in facts for spell in spelled])
    assert actions(answers) == {"created": 8, "skipped": 32}
    said = {" ".join(entry.content.lower().rstrip("!").split()) for entry in MemoryEntry.objects.all()}
    assert said == {fact.lower() for fact in facts}
    assert Memory.objects.get().revision == 8
    assert_whole()


def test_two_memories_take_the_same_fact(server: httpx.Client, memory: Memory, committed_cast: Cast) -> None:
    other = Memory.objects.create(project=committed_cast.project_a, name="Other")
    answers = at_once([writing(server, target, "Alice manages Bob") for target in (memory, other) for _ in range(8)])
    assert actions(answers) == {"created": 2, "skipped": 14}
    assert {entry.memory_id for entry in MemoryEntry.objects.all()} == {memory.pk, other.pk}
    assert_whole()


def test_forced_writes_are_all_stored(server: httpx.Client, memory: Memory) -> None:
    answers = at_once([writing(server, memory, "Alice manages Bob", force=True) for _ in range(12)])
    assert actions(answers) == {"created": 12}
    assert Memory.objects.get().revision == MemoryEntry.objects.count() == 12
    assert_whole()


def test_edits_and_writes_at_once(server: httpx.Client, memory: Memory) -> None:
    """Whatever the order: each edit counts once, no vector of an older text stays, no plain write makes a twin."""
    entry = writing(server, memory, "Version 0 is live")().json()["id"]
    edits = [
        lambda number=number: server.put(f"/memory-entries/{entry}", json={"content": f"Version {number} is live"})
        for number in range(1, 11)
    ]
    tags = [
        lambda number=number: server.put(f"/memory-entries/{entry}", json={"tags": [f"t{number}"]})
        for number in range(5)
    ]
    writes = [writing(server, memory, f"Version {number} is live") for number in (1, 1, 5, 5, 99, 99)]
    answers = at_once([*edits, *tags, *writes])
    assert {answer.status_code for answer in answers} <= {200, 201}
    edited = MemoryEntry.objects.get(public_id=entry)
    assert edited.version == 16
    assert (edited.content, edited.tags) == _last_edit(answers[:15])
    written = Counter(row.content for row in MemoryEntry.objects.exclude(pk=edited.pk))
    assert set(written.values()) <= {1}
    assert written["Version 99 is live"] == 1
    created = sum(answer.status_code == 201 for answer in answers)
    assert Memory.objects.get().revision == 1 + 15 + created
    assert_whole()


def _last_edit(answers: list[Answer]) -> tuple[str, list[str]]:
    last = max((answer.json() for answer in answers), key=lambda record: record["version"])
    assert sorted(answer.json()["version"] for answer in answers) == list(range(2, 17))
    return last["content"], last["tags"]


def test_a_memory_is_deleted_while_it_is_written(server: httpx.Client, memory: Memory) -> None:
    entry = writing(server, memory, "Version 0 is live")().json()["id"]
    others = [
        lambda: server.delete(f"/memories/{memory.public_id}"),
        lambda: server.delete(f"/memories/{memory.public_id}"),
        lambda: server.put(f"/memory-entries/{entry}", json={"content": "Version 7 is live"}),
        lambda: server.delete(f"/memory-entries/{entry}"),
        lambda: server.put(f"/memories/{memory.public_id}", json={"name": "New"}),
        lambda: server.get("/memory-entries", params={"memory_id": memory.public_id}),
        lambda: server.post("/knowledge/search", json={"memory_ids": [memory.public_id], "query": "live"}),
    ]
    writes = [writing(server, memory, f"Version {number} is live") for number in range(1, 13)]
    answers = at_once([*writes[:6], *others, *writes[6:]])
    assert {answer.status_code for answer in answers} <= {200, 201, 204, 404}, [answer.text for answer in answers]
    assert [answer.status_code for answer in answers[6:8]].count(204) == 1
    assert not Memory.objects.exists()
    assert not MemoryEntry.objects.exists()
    assert not EntryVector.objects.exists()


def test_writes_and_deletes_of_entries_at_once(server: httpx.Client, memory: Memory) -> None:
    ids = [writing(server, memory, f"Room {number} has {number} seats")().json()["id"] for number in range(6)]
    deletes = [lambda entry=entry: server.delete(f"/memory-entries/{entry}") for entry in ids for _ in range(2)]
    writes = [writing(server, memory, f"Room {number} has {number} seats") for number in range(6) for _ in range(2)]
    answers = at_once([act for pair in zip(deletes, writes, strict=True) for act in pair])
    deleted = Counter(answer.status_code for answer in answers[::2])
    assert deleted == {204: 6, 404: 6}
    assert {answer.status_code for answer in answers[1::2]} <= {200, 201}
    facts = Counter(entry.content for entry in MemoryEntry.objects.all())
    assert set(facts.values()) <= {1}
    created = sum(answer.status_code == 201 for answer in answers[1::2])
    assert Memory.objects.get().revision == 6 + 6 + created
    assert_whole()
