"""What another writer does between the shortlist and the lock, step by step and without threads."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from memories import services
from memories.models import EntryVector, Memory, MemoryEntry
from memories.querysets import shortlist
from memories.services import (
    IncomingFact,
    WriteAction,
    WriteResult,
    delete_entry,
    delete_memory,
    update_entry,
    write_entry,
)
from soat.core.errors import NotFound
from tests.conftest import Cast
from tests.memories.fakes import FailingEmbedder, placed, use_embedder

Other = Callable[[], object]

PAPER = "The API allows 100 requests per minute"
WORDS = "The API allows one hundred requests per minute"
THOUSAND = "The API allows 1000 requests per minute"


@pytest.fixture
def memory(cast: Cast) -> Memory:
    return Memory.objects.create(project=cast.project_a, name="Facts")


def say(memory: Memory, content: str, **fields: Any) -> WriteResult:
    return write_entry(memory=memory, fact=IncomingFact(content, **fields))


def meanwhile(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    """Run ``other`` once, after the next writer's shortlist and before its lock."""
    real = shortlist
    pending = [other]

    def looked(*args: Any, **options: Any) -> Any:
        found = real(*args, **options)
        if pending:
            pending.pop()()
        return found

    monkeypatch.setattr(services, "shortlist", looked)


def edit(entry: MemoryEntry, content: str) -> Other:
    return lambda: update_entry(entry=entry, changes={"content": content})


def invalidate(memory: Memory, entry: MemoryEntry) -> None:
    """Supersede an entry as its writer does: under the memory's next revision."""
    revision = Memory.objects.get(pk=memory.pk).revision + 1
    Memory.objects.filter(pk=memory.pk).update(revision=revision)
    MemoryEntry.objects.filter(pk=entry.pk).update(invalidated_at=timezone.now(), revision=revision)


def contents(memory: Memory) -> list[str]:
    return list(MemoryEntry.objects.filter(memory=memory).order_by("pk").values_list("content", flat=True))


@pytest.mark.parametrize("incoming", [PAPER, WORDS])
def test_the_candidate_is_edited_into_another_fact(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, incoming: str
) -> None:
    known = say(memory, PAPER).entry
    meanwhile(monkeypatch, edit(known, THOUSAND))
    assert say(memory, incoming).action is WriteAction.CREATED
    assert contents(memory) == [THOUSAND, incoming]


@pytest.mark.parametrize("edited", [PAPER, WORDS, PAPER.upper()])
def test_an_entry_is_edited_into_the_incoming_fact(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, edited: str
) -> None:
    known = say(memory, THOUSAND).entry
    meanwhile(monkeypatch, edit(known, edited))
    result = say(memory, PAPER)
    assert (result.action, result.entry.pk, result.entry.content) == (WriteAction.SKIPPED, known.pk, edited)
    assert contents(memory) == [edited]


@pytest.mark.parametrize("incoming", [PAPER, WORDS])
def test_the_candidate_is_invalidated(memory: Memory, monkeypatch: pytest.MonkeyPatch, incoming: str) -> None:
    known = say(memory, PAPER).entry
    meanwhile(monkeypatch, lambda: invalidate(memory, known))
    result = say(memory, incoming)
    assert (result.action, result.matched) == (WriteAction.CREATED, None)


@pytest.mark.parametrize("incoming", [PAPER, WORDS])
def test_the_candidate_is_deleted(memory: Memory, monkeypatch: pytest.MonkeyPatch, incoming: str) -> None:
    known = say(memory, PAPER).entry
    meanwhile(monkeypatch, lambda: delete_entry(entry=known))
    result = say(memory, incoming)
    assert (result.action, result.matched) == (WriteAction.CREATED, None)
    assert contents(memory) == [incoming]


@pytest.mark.parametrize("first", [PAPER, WORDS, PAPER.upper()])
@pytest.mark.parametrize("known", [[], [THOUSAND], ["Alice likes tea"]])
def test_an_equal_fact_arrives(memory: Memory, monkeypatch: pytest.MonkeyPatch, first: str, known: list[str]) -> None:
    for content in known:
        say(memory, content)
    meanwhile(monkeypatch, lambda: say(memory, first))
    result = say(memory, PAPER)
    assert (result.action, result.entry.content) == (WriteAction.SKIPPED, first)
    assert contents(memory) == [*known, first]


def test_an_equal_fact_arrives_without_a_vector(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_without_vector() -> None:
        with monkeypatch.context() as down:
            use_embedder(down, FailingEmbedder())
            say(memory, PAPER)

    meanwhile(monkeypatch, write_without_vector)
    result = say(memory, PAPER.upper())
    assert (result.action, result.reason) == (WriteAction.SKIPPED, "identical_text")
    assert contents(memory) == [PAPER]


def test_an_equal_fact_arrives_while_this_one_has_no_vector(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    use_embedder(monkeypatch, FailingEmbedder())
    meanwhile(monkeypatch, lambda: say(memory, PAPER))
    assert say(memory, PAPER).action is WriteAction.SKIPPED
    assert contents(memory) == [PAPER]


def test_an_equal_fact_comes_and_goes(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: delete_entry(entry=say(memory, PAPER).entry))
    assert say(memory, PAPER).action is WriteAction.CREATED
    assert contents(memory) == [PAPER]


def test_an_entry_gets_its_missing_vector(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as down:
        use_embedder(down, FailingEmbedder())
        bare = say(memory, PAPER).entry
    meanwhile(monkeypatch, edit(bare, PAPER))
    result = say(memory, WORDS)
    assert (result.action, result.entry.pk) == (WriteAction.SKIPPED, bare.pk)


def test_an_unrelated_write_changes_no_verdict(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    known = say(memory, PAPER).entry
    meanwhile(monkeypatch, lambda: say(memory, "Alice likes tea"))
    result = say(memory, WORDS)
    assert (result.action, result.entry.pk) == (WriteAction.SKIPPED, known.pk)


def test_only_the_tags_of_the_candidate_change(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    known = say(memory, PAPER).entry
    meanwhile(monkeypatch, lambda: update_entry(entry=known, changes={"tags": ["new"]}))
    result = say(memory, WORDS)
    assert (result.action, result.entry.pk, result.entry.tags) == (WriteAction.SKIPPED, known.pk, ["new"])


def test_the_gap_in_the_shortlist_is_filled(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The restatement lies behind five nearer facts; with one of them gone it must be seen."""
    numbers = {f"The API allows {number} requests per minute": 0.999 - number / 1e6 for number in range(200, 205)}
    use_embedder(monkeypatch, placed({**numbers, WORDS: 0.96, PAPER: 1.0}))
    nearer = [say(memory, content, force=True).entry for content in numbers]
    stated = say(memory, WORDS, force=True).entry
    assert say(memory, PAPER, duplicate_threshold=1).reason == "below_threshold"
    delete_entry(entry=MemoryEntry.objects.get(content=PAPER))
    meanwhile(monkeypatch, lambda: delete_entry(entry=nearer[0]))
    result = say(memory, PAPER)
    assert (result.action, result.entry.pk) == (WriteAction.SKIPPED, stated.pk)


@pytest.mark.parametrize("known", [[], [PAPER]])
def test_the_memory_is_deleted(memory: Memory, monkeypatch: pytest.MonkeyPatch, known: list[str]) -> None:
    for content in known:
        say(memory, content)
    meanwhile(monkeypatch, lambda: delete_memory(memory=Memory.objects.get(pk=memory.pk)))
    with pytest.raises(NotFound):
        say(memory, WORDS)
    assert not MemoryEntry.objects.exists()
    assert not EntryVector.objects.exists()


def test_the_memory_is_deleted_before_the_shortlist(memory: Memory) -> None:
    delete_memory(memory=Memory.objects.get(pk=memory.pk))
    with pytest.raises(NotFound):
        say(memory, PAPER)


def test_an_entry_is_deleted_before_its_edit_is_written(memory: Memory) -> None:
    entry = say(memory, PAPER).entry
    delete_entry(entry=MemoryEntry.objects.select_related("memory").get(pk=entry.pk))
    for act in (edit(entry, WORDS), lambda: delete_entry(entry=entry)):
        with pytest.raises(NotFound):
            act()
    assert not EntryVector.objects.exists()


def test_a_memory_is_deleted_before_its_change_is_written(memory: Memory) -> None:
    delete_memory(memory=Memory.objects.get(pk=memory.pk))
    with pytest.raises(NotFound):
        services.update_memory(memory=memory, changes={"name": "New"})
    with pytest.raises(NotFound):
        delete_memory(memory=memory)


def test_changes_of_different_fields_are_both_kept(memory: Memory) -> None:
    """Each of two callers has read the memory before the other one wrote."""
    stale = Memory.objects.select_related("project").get(pk=memory.pk)
    services.update_memory(memory=memory, changes={"name": "New", "tags": ["a"]})
    after = services.update_memory(memory=stale, changes={"description": "d", "tags": []})
    assert (after.name, after.description, after.tags) == ("New", "d", [])
    entry = say(memory, PAPER).entry
    stale_entry = MemoryEntry.objects.select_related("memory").get(pk=entry.pk)
    update_entry(entry=entry, changes={"tags": ["a"]})
    changed = update_entry(entry=stale_entry, changes={"metadata": {"k": 1}})
    assert (changed.tags, changed.metadata, changed.version) == (["a"], {"k": 1}, 3)
