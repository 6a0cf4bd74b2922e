"""Memory entries over REST: read, list, change, delete."""

import re

import pytest
from django.utils import timezone

from memories.models import EntryVector, Memory, MemoryEntry
from tests.conftest import Cast
from tests.memories.rest import (
    ENTRIES,
    UNKNOWN_ENTRY,
    UNKNOWN_MEMORY,
    Record,
    assert_error,
    assert_names_field,
    entry_of,
    listed,
    new_memory,
    send,
    write,
)


def supersede(old: str, new: str | None = None) -> None:
    """Invalidate an entry, as the write funnel will."""
    by = MemoryEntry.objects.get(public_id=new) if new else None
    MemoryEntry.objects.filter(public_id=old).update(invalidated_at=timezone.now(), superseded_by=by)


def test_an_entry_comes_back_as_it_was_written(cast: Cast, memory: Record) -> None:
    record = write(cast.a, memory["id"], "  Alice likes tea ", tags=["ui"], metadata={"src": "chat", "Camel": 1})
    assert re.fullmatch(r"mem_entry_[A-Za-z0-9]{16}", record["id"])
    entry = {
        "id": record["id"],
        "memory_id": memory["id"],
        "content": "Alice likes tea",
        "source_type": "manual",
        "tags": ["ui"],
        "metadata": {"src": "chat", "Camel": 1},
        "source_generation_id": None,
        "source_conversation_id": None,
        "invalidated_at": None,
        "superseded_by_entry_id": None,
        "version": 1,
        "created_at": record["created_at"],
        "updated_at": record["created_at"],
    }
    assert record == {**entry, "action": "created", "reason": "no_candidate"}
    assert entry_of(cast.a, record["id"]) == entry


def test_an_entry_without_tags_and_metadata_says_null(cast: Cast, memory: Record) -> None:
    choices: list[Record] = [{}, {"tags": []}]
    for fields in choices:
        record = write(cast.a, memory["id"], "Alice likes tea", force=True, **fields)
        assert (record["tags"], record["metadata"]) == (None, None)
    assert write(cast.a, memory["id"], "Bob likes tea", metadata={})["metadata"] == {}


def test_the_list_is_oldest_first_without_the_invalidated(cast: Cast, memory: Record) -> None:
    ids = [write(cast.a, memory["id"], f"Room {number} is {number} m wide")["id"] for number in range(5)]
    write(cast.a, new_memory(cast.a)["id"], "Room 9 is 9 m wide")
    same_moment = MemoryEntry.objects.get(public_id=ids[0]).created_at
    MemoryEntry.objects.filter(public_id__in=ids[:3]).update(created_at=same_moment)
    supersede(ids[1], ids[4])
    valid = [ids[0], *ids[2:]]
    assert [row["id"] for row in listed(cast.a, memory["id"])] == valid
    assert [row["id"] for row in listed(cast.a, memory["id"], include_invalidated="false")] == valid
    everything = listed(cast.a, memory["id"], include_invalidated="true")
    assert [row["id"] for row in everything] == ids
    assert everything[1]["superseded_by_entry_id"] == ids[4]
    assert everything[1]["invalidated_at"] is not None
    page = cast.a.get(ENTRIES, {"memory_id": memory["id"], "limit": 2, "offset": 1}).json()
    assert [row["id"] for row in page["data"]] == valid[1:3]
    assert (page["total"], page["limit"], page["offset"]) == (4, 2, 1)
    total = cast.a.get(ENTRIES, {"memory_id": memory["id"], "include_invalidated": "1"}).json()["total"]
    assert total == 5


def test_an_invalidated_entry_is_read_by_id(cast: Cast, memory: Record) -> None:
    old = write(cast.a, memory["id"], "Alice lives in Rome")
    new = write(cast.a, memory["id"], "Alice lives in Oslo")
    supersede(old["id"], new["id"])
    record = entry_of(cast.a, old["id"])
    assert (record["content"], record["superseded_by_entry_id"]) == ("Alice lives in Rome", new["id"])
    assert cast.a.delete(f"{ENTRIES}/{new['id']}").status_code == 204
    record = entry_of(cast.a, old["id"])
    assert record["superseded_by_entry_id"] is None
    assert record["invalidated_at"] is not None


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ({"content": "Bob likes tea"}, {"content": "Bob likes tea", "tags": ["t"], "metadata": {"k": 1}}),
        ({"tags": ["x"]}, {"content": "Alice likes tea", "tags": ["x"], "metadata": {"k": 1}}),
        ({"tags": None}, {"content": "Alice likes tea", "tags": None, "metadata": {"k": 1}}),
        ({"tags": []}, {"content": "Alice likes tea", "tags": None, "metadata": {"k": 1}}),
        ({"metadata": None}, {"content": "Alice likes tea", "tags": ["t"], "metadata": None}),
        ({"metadata": {}}, {"content": "Alice likes tea", "tags": ["t"], "metadata": {}}),
        ({"metadata": {"n": None}}, {"content": "Alice likes tea", "tags": ["t"], "metadata": {"n": None}}),
        ({"metadata": {"k": True}}, {"content": "Alice likes tea", "tags": ["t"], "metadata": {"k": True}}),
        ({"metadata": {"k": 1.0}}, {"content": "Alice likes tea", "tags": ["t"], "metadata": {"k": 1.0}}),
        ({"content": "Bob", "tags": None, "metadata": None}, {"content": "Bob", "tags": None, "metadata": None}),
        ({"content": "alice likes tea."}, {"content": "alice likes tea.", "tags": ["t"], "metadata": {"k": 1}}),
        ({"content": " cafe\u0301 "}, {"content": "caf\u00e9", "tags": ["t"], "metadata": {"k": 1}}),
    ],
)
def test_a_put_changes_what_it_names(cast: Cast, memory: Record, body: Record, after: Record) -> None:
    before = write(cast.a, memory["id"], "Alice likes tea", tags=["t"], metadata={"k": 1})
    answer = cast.a.put(f"{ENTRIES}/{before['id']}", body, format="json")
    assert answer.status_code == 200
    record = answer.json()
    # True == 1 in Python, and yet another value in JSON.
    assert repr({name: record[name] for name in after}) == repr(after)
    assert record["version"] == 2
    assert record["updated_at"] > before["updated_at"]
    assert record["created_at"] == before["created_at"]
    assert entry_of(cast.a, before["id"]) == record
    assert "action" not in record


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": "Alice likes tea"},
        {"content": " Alice likes tea\n"},
        {"tags": ["t"]},
        {"metadata": {"a": {"b": [1, None]}, "k": 1}},
        {"content": "Alice likes tea", "tags": ["t"], "metadata": {"k": 1, "a": {"b": [1, None]}}},
    ],
)
def test_a_put_that_changes_nothing_leaves_the_entry_alone(cast: Cast, memory: Record, body: Record) -> None:
    written = write(cast.a, memory["id"], "Alice likes tea", tags=["t"], metadata={"k": 1, "a": {"b": [1, None]}})
    before = entry_of(cast.a, written["id"])
    revision = Memory.objects.get().revision
    answer = cast.a.put(f"{ENTRIES}/{before['id']}", body, format="json")
    assert (answer.status_code, answer.json()) == (200, before)
    assert entry_of(cast.a, before["id"]) == before
    assert Memory.objects.get().revision == revision


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": None}, "content"),
        ({"content": ""}, "content"),
        ({"content": " \n\t "}, "content"),
        ({"content": "\u200b\u2060"}, "content"),
        ({"content": "nul\0byte"}, "content"),
        ({"content": "lone \ud83d surrogate"}, "content"),
        ({"content": ["a"]}, "content"),
        ({"content": 5}, "content"),
        ({"content": "x" * 32_769}, "content"),
        ({"tags": "a"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"tags": [""]}, "tags"),
        ({"tags": ["t" * 256]}, "tags"),
        ({"tags": ["nul\0"]}, "tags"),
        ({"metadata": [1]}, "metadata"),
        ({"metadata": "{}"}, "metadata"),
        ({"metadata": {"k": ["\0"]}}, "metadata"),
        ({"metadata": {"k\0": 1}}, "metadata"),
        ({"metadata": {"k": {"k": "\udc00"}}}, "metadata"),
    ],
)
def test_a_put_that_cannot_be_stored_changes_nothing(cast: Cast, memory: Record, body: Record, field: str) -> None:
    before = entry_of(cast.a, write(cast.a, memory["id"], "Alice likes tea", tags=["t"])["id"])
    assert_names_field(send(cast.a, "put", f"{ENTRIES}/{before['id']}", body), field)
    assert entry_of(cast.a, before["id"]) == before


def test_a_put_of_an_unknown_field_is_refused(cast: Cast, memory: Record) -> None:
    entry = write(cast.a, memory["id"], "Alice likes tea")
    for body in ({"zzz": 1}, {"content": "x", "memory_id": memory["id"]}, {"force": True}):
        answer = cast.a.put(f"{ENTRIES}/{entry['id']}", body, format="json")
        assert_error(answer, 400, "VALIDATION_FAILED", unknownFields=[name for name in body if name != "content"])


def test_an_edited_text_is_embedded_again(cast: Cast, memory: Record) -> None:
    entry = write(cast.a, memory["id"], "Alice likes tea")
    before = list(EntryVector.objects.get(entry__public_id=entry["id"]).embedding)
    cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": "Bob flies to Rome"}, format="json")
    assert list(EntryVector.objects.get(entry__public_id=entry["id"]).embedding) != before
    assert write(cast.a, memory["id"], "Alice likes tea")["action"] == "created"
    assert write(cast.a, memory["id"], "Bob flies to Rome!")["id"] == entry["id"]


def test_tags_alone_keep_the_vector(cast: Cast, memory: Record) -> None:
    entry = write(cast.a, memory["id"], "Alice likes tea")
    before = EntryVector.objects.get()
    cast.a.put(f"{ENTRIES}/{entry['id']}", {"tags": ["x"]}, format="json")
    assert EntryVector.objects.get().pk == before.pk


def test_a_deleted_entry_is_gone_with_its_vectors(cast: Cast, memory: Record) -> None:
    gone = write(cast.a, memory["id"], "Alice likes tea")
    stays = write(cast.a, memory["id"], "Bob lives in Rome")
    assert cast.a.delete(f"{ENTRIES}/{gone['id']}").status_code == 204
    for answer in (cast.a.delete(f"{ENTRIES}/{gone['id']}"), cast.a.get(f"{ENTRIES}/{gone['id']}")):
        assert_error(answer, 404, "RESOURCE_NOT_FOUND")
    assert [row["id"] for row in listed(cast.a, memory["id"])] == [stays["id"]]
    assert EntryVector.objects.get().entry.public_id == stays["id"]
    assert write(cast.a, memory["id"], "Alice likes tea")["action"] == "created"


@pytest.mark.parametrize(("method", "body"), [("get", None), ("put", {"content": "x"}), ("delete", None)])
def test_a_foreign_entry_is_an_unknown_one(cast: Cast, method: str, body: Record | None) -> None:
    foreign = write(cast.b, new_memory(cast.b)["id"], "The launch code is swordfish")["id"]
    bodies = []
    for caller, target in [
        (cast.a, foreign),
        (cast.a, UNKNOWN_ENTRY),
        (cast.a, "12345"),
        (cast.outsider, foreign),
        (cast.outsider, UNKNOWN_ENTRY),
    ]:
        answer = getattr(caller, method)(f"{ENTRIES}/{target}", body, format="json")
        assert_error(answer, 404, "RESOURCE_NOT_FOUND")
        bodies.append(answer.json())
    assert all(body == bodies[0] for body in bodies)
    assert entry_of(cast.admin, foreign)["content"] == "The launch code is swordfish"


def test_the_entries_of_a_foreign_memory_are_those_of_an_unknown_one(cast: Cast) -> None:
    foreign = new_memory(cast.b)["id"]
    bodies = []
    for caller in (cast.a, cast.outsider):
        for target in (foreign, UNKNOWN_MEMORY):
            answer = caller.get(ENTRIES, {"memory_id": target})
            assert_error(answer, 404, "RESOURCE_NOT_FOUND")
            bodies.append(answer.json())
    assert all(body == bodies[0] for body in bodies)
    assert_error(cast.anonymous.get(ENTRIES, {"memory_id": foreign}), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    ("query", "meta"),
    [
        ({}, {"missingFields": ["memory_id"]}),
        ({"memory_id": ""}, {"missingFields": ["memory_id"]}),
        ({"memory_id": "m", "foo": "1"}, {"unknownFields": ["foo"]}),
        ({"foo": "1"}, {"unknownFields": ["foo"], "missingFields": ["memory_id"]}),
        (
            {"memory_id": "m", "include_invalidated": "maybe"},
            {"fields": {"include_invalidated": "must be true or false."}},
        ),
        ({"memory_id": "m\0"}, {"fields": {"memory_id": "must not contain the NUL character."}}),
    ],
)
def test_the_query_of_the_list_is_checked(cast: Cast, query: Record, meta: Record) -> None:
    assert_error(cast.a.get(ENTRIES, query), 400, "VALIDATION_FAILED", **meta)
