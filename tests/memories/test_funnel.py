"""The write funnel with the real model: what is skipped, what is created, and what a skip leaves alone."""

import pytest
from django.utils import timezone

from memories.models import EntryVector, Memory, MemoryEntry, SourceType
from tests.conftest import Cast
from tests.memories.rest import Record, entry_of, listed, new_memory, write

DUPLICATE = 0.95

SAME_TEXT = [
    ("The user prefers dark mode", "the USER prefers dark mode!"),
    ("The user prefers dark mode", " The  user\nprefers\tdark mode... "),
    ("The user prefers dark mode.", "The user prefers dark mode"),
    ("The caf\u00e9 opens at nine", "The cafe\u0301 opens at nine"),
    ("Die Stra\u00dfe ist gesperrt", "DIE STRASSE IST GESPERRT"),
    ("\u7528\u6237\u559c\u6b22\u82f9\u679c", "\u7528\u6237\u559c\u6b22\u82f9\u679c\u3002"),
    ("The user likes \U0001f34e", "the user likes \U0001f34e"),
    ("\U0001f34e", " \U0001f34e "),
]

RESTATED = [
    ("The contract ends on 3 March 2024", "The contract ends on March 3rd, 2024"),
    ("The API allows 100 requests per minute", "The API allows one hundred requests per minute"),
    ("The parcel weighs 5 kg", "The parcel weighs 5 kilograms"),
    ("It's raining in Paris", "It is raining in Paris"),
    ("The user does not eat meat", "The user doesn't eat meat"),
    ("The office is in the city of Berlin", "The office is in city of Berlin"),
]

CHANGED = [
    ("The contract ends on 3 March 2024", "The contract ends on 3 March 2025", "date"),
    ("The meeting is on Monday at ten", "The meeting is on Tuesday at ten", "date"),
    ("The API allows 100 requests per minute", "The API allows 1000 requests per minute", "number"),
    ("The gate code is 4711", "The gate code is 4712", "number"),
    ("The retention period is 30 days", "The retention period is 30 hours", "unit"),
    ("The disk holds 100 Mb", "The disk holds 100 MB", "unit"),
    ("Alice is allergic to penicillin", "Alice is not allergic to penicillin", "negation"),
    ("Bob must approve every invoice", "Bob may approve every invoice", "modality"),
    ("Alice manages Bob", "Bob manages Alice", "order"),
    ("The flight leaves Paris for London", "The flight leaves London for Paris", "order"),
    ("The user has a cat named Tom", "The user really has a cat named Tom", "wording"),
    ("Alice is allergic to nuts.", "Is Alice allergic to nuts?", "question"),
    ("Alice is allergic to nuts", "Alice is allergic to nuts?", "question"),
    ("The user likes \U0001f34e", "The user likes \U0001f34c", "wording"),
    ("The user is feeling \U0001f600 today", "The user is feeling \U0001f622 today", "wording"),
    ("The user likes \U0001f34e and \U0001f350", "The user likes \U0001f350 and \U0001f34e", "order"),
    ("\u7528\u6237\u559c\u6b22 Python \u548c Django", "\u7528\u6237\u8ba8\u538c Python \u548c Django", "wording"),
]

UNREADABLE = [
    ("\u7528\u6237\u559c\u6b22\u82f9\u679c", "\u7528\u6237\u559c\u6b22\u9999\u8549"),
    ("\u4f1a\u8bae\u5728\u661f\u671f\u4e94\u4e3e\u884c", "\u4f1a\u8bae\u5728\u661f\u671f\u516d\u4e3e\u884c"),
    ("\u4f1a\u8bae\u5728\u661f\u671f\u4e94\u4e3e\u884c", "\u4f1a\u8bae\u4e0d\u5728\u661f\u671f\u4e94\u4e3e\u884c"),
    ("\U0001f34e", "\U0001f34c"),
    ("\U0001f34e\U0001f34e", "\U0001f34e"),
]


@pytest.mark.parametrize(("known", "incoming"), SAME_TEXT)
def test_an_equal_text_is_skipped(cast: Cast, memory: Record, known: str, incoming: str) -> None:
    first = write(cast.a, memory["id"], known)
    again = write(cast.a, memory["id"], incoming)
    assert (again["action"], again["reason"]) == ("skipped", "identical_text")
    assert (again["id"], again["matched_entry_id"]) == (first["id"], first["id"])
    assert len(listed(cast.a, memory["id"])) == 1


@pytest.mark.parametrize(("known", "incoming"), RESTATED)
def test_a_restatement_is_skipped(cast: Cast, memory: Record, known: str, incoming: str) -> None:
    first = write(cast.a, memory["id"], known)
    again = write(cast.a, memory["id"], incoming)
    assert (again["action"], again["reason"], again["id"]) == ("skipped", "similar", first["id"])
    assert DUPLICATE <= again["similarity"] < 1
    assert again["content"] == known


@pytest.mark.parametrize(("known", "incoming", "kind"), CHANGED)
@pytest.mark.parametrize("turned", [False, True])
def test_a_changed_fact_is_created_however_similar(
    cast: Cast, memory: Record, *, known: str, incoming: str, kind: str, turned: bool
) -> None:
    known, incoming = (incoming, known) if turned else (known, incoming)
    first = write(cast.a, memory["id"], known)
    second = write(cast.a, memory["id"], incoming)
    assert second["similarity"] >= DUPLICATE, "this pair shows nothing: it is not similar enough"
    assert (second["action"], second["reason"]) == ("created", f"fact_differs_{kind}")
    assert second["matched_entry_id"] == first["id"] != second["id"]
    assert [row["content"] for row in listed(cast.a, memory["id"])] == [known, incoming]
    assert write(cast.a, memory["id"], incoming)["id"] == second["id"]


@pytest.mark.parametrize(("known", "incoming"), UNREADABLE)
def test_texts_that_the_model_cannot_read_are_told_apart(cast: Cast, memory: Record, known: str, incoming: str) -> None:
    first = write(cast.a, memory["id"], known)
    second = write(cast.a, memory["id"], incoming)
    assert (first["action"], second["action"]) == ("created", "created")
    assert write(cast.a, memory["id"], known)["id"] == first["id"]
    assert write(cast.a, memory["id"], incoming)["id"] == second["id"]


def test_a_restatement_is_found_behind_nearer_changed_facts(cast: Cast, memory: Record) -> None:
    stated = write(cast.a, memory["id"], "The API allows one hundred requests per minute")
    write(cast.a, memory["id"], "The API allows 1000 requests per minute")
    again = write(cast.a, memory["id"], "The API allows 100 requests per minute")
    assert (again["action"], again["id"]) == ("skipped", stated["id"])


def test_another_memory_is_never_looked_at(cast: Cast, memory: Record) -> None:
    for other in (new_memory(cast.a), new_memory(cast.b)):
        client = cast.a if other["project_id"] == cast.project_a.public_id else cast.b
        write(client, other["id"], "Alice likes tea")
    written = write(cast.a, memory["id"], "Alice likes tea")
    assert (written["action"], written["reason"]) == ("created", "no_candidate")


def test_a_skip_changes_nothing(cast: Cast, memory: Record) -> None:
    first = write(cast.a, memory["id"], "Alice likes tea", tags=["ui"], metadata={"k": 1}, source_type="agent")
    before = entry_of(cast.a, first["id"])
    revision = Memory.objects.get().revision
    vector = EntryVector.objects.get().pk
    for content in ("alice likes TEA", "Alice likes the tea"):
        skipped = write(cast.a, memory["id"], content, tags=["b"], metadata={"k": 2}, source_type="extraction")
        assert skipped["action"] == "skipped"
        assert {name: skipped[name] for name in before} == before
    assert entry_of(cast.a, first["id"]) == before
    assert Memory.objects.get().revision == revision
    assert EntryVector.objects.get().pk == vector


@pytest.mark.parametrize("source_type", [None, *SourceType.values])
def test_the_source_is_kept(cast: Cast, memory: Record, source_type: str | None) -> None:
    fields = {} if source_type is None else {"source_type": source_type}
    written = write(cast.a, memory["id"], "Alice likes tea", **fields)
    assert written["source_type"] == (source_type or "manual")
    assert (written["source_generation_id"], written["source_conversation_id"]) == (None, None)


def test_force_stores_in_any_case(cast: Cast, memory: Record) -> None:
    first = write(cast.a, memory["id"], "Alice likes tea")
    for fields in ({"force": True}, {"force": True, "duplicate_threshold": 0}):
        twin = write(cast.a, memory["id"], "Alice likes tea", **fields)
        assert (twin["action"], twin["reason"], twin["matched_entry_id"]) == ("created", "forced", first["id"])
    assert write(cast.a, memory["id"], "Alice likes tea", force=False)["id"] == first["id"]
    assert len(listed(cast.a, memory["id"])) == 3


@pytest.mark.parametrize("incoming", ["Alice lives in Rome", "alice lives in ROME.", "Alice lives in the Rome"])
def test_what_was_superseded_can_be_said_again(cast: Cast, memory: Record, incoming: str) -> None:
    old = write(cast.a, memory["id"], "Alice lives in Rome")
    new = write(cast.a, memory["id"], "Alice lives in Oslo")
    superseded = MemoryEntry.objects.filter(public_id=old["id"])
    superseded.update(invalidated_at=timezone.now(), superseded_by=MemoryEntry.objects.get(public_id=new["id"]))
    for threshold in (None, 0.9):
        again = write(cast.a, memory["id"], incoming, duplicate_threshold=threshold)
        assert again["id"] != old["id"]
        assert again.get("matched_entry_id") != old["id"]
        assert again["action"] == ("created" if threshold is None else "skipped")


def test_nothing_but_invalidated_entries_is_no_candidate(cast: Cast, memory: Record) -> None:
    write(cast.a, memory["id"], "Alice lives in Rome")
    MemoryEntry.objects.update(invalidated_at=timezone.now())
    for threshold in (0, 0.5, 1):
        again = write(cast.a, memory["id"], "Alice lives in Rome", duplicate_threshold=threshold)
        assert (again["action"], again["reason"]) == ("created", "no_candidate")
        assert "similarity" not in again
        MemoryEntry.objects.update(invalidated_at=timezone.now())


def test_every_change_counts_the_memory_on(cast: Cast, memory: Record) -> None:
    first = write(cast.a, memory["id"], "Alice likes tea")
    second = write(cast.a, memory["id"], "Bob lives in Rome")
    assert _revisions() == (2, [1, 2])
    cast.a.put(f"/api/v1/memory-entries/{first['id']}", {"tags": ["x"]}, format="json")
    assert _revisions() == (3, [3, 2])
    cast.a.delete(f"/api/v1/memory-entries/{second['id']}")
    assert _revisions() == (4, [3])
    write(cast.a, memory["id"], "Bob lives in Rome")
    assert _revisions() == (5, [3, 5])


def _revisions() -> tuple[int, list[int]]:
    entries = MemoryEntry.objects.order_by("pk").values_list("revision", flat=True)
    return Memory.objects.get().revision, list(entries)
