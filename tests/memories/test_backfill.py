"""Entries that were stored without a vector get one when the provider is back."""

import pytest

from embeddings.port import EmbeddingRejected, Reason
from memories.backfill import backfill_entries
from memories.models import EntryVector, Memory, MemoryEntry
from tests.conftest import Cast
from tests.memories.fakes import FailingEmbedder, FakeEmbedder, at_cosine, placed, use_embedder
from tests.memories.rest import ENTRIES, Record, write


def stored_without_vectors(cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch, *texts: str) -> None:
    use_embedder(monkeypatch, FailingEmbedder())
    for text in texts:
        assert write(cast.a, memory["id"], text)["action"] == "created"


def vectors_by_text() -> dict[str, list[float]]:
    rows = EntryVector.objects.select_related("entry").order_by("entry_id", "window")
    return {row.entry.content: list(row.embedding) for row in rows}


def test_waiting_entries_get_the_vector_of_their_text(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_without_vectors(cast, memory, monkeypatch, "tea", "coffee")
    before = Memory.objects.get().revision
    use_embedder(monkeypatch, placed({"tea": 1.0, "coffee": 0.5}))
    assert backfill_entries() == 2
    assert vectors_by_text() == {
        "tea": pytest.approx(at_cosine(1.0).tolist()),
        "coffee": pytest.approx(at_cosine(0.5).tolist()),
    }
    assert not MemoryEntry.objects.filter(awaits_vector=True).exists()
    assert Memory.objects.get().revision == before + 2
    assert set(MemoryEntry.objects.values_list("version", flat=True)) == {1}
    assert backfill_entries() == 0


def test_a_provider_that_is_still_down_is_asked_for_one_batch_only(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_without_vectors(cast, memory, monkeypatch, "tea", "coffee", "milk")
    monkeypatch.setattr("embeddings.backfill.ROWS_PER_BATCH", 1)
    asked: list[str] = []

    class Down(FailingEmbedder):
        def windows(self, text: str) -> list:  # type: ignore[type-arg]
            asked.append(text)
            return super().windows(text)

    use_embedder(monkeypatch, Down())
    assert backfill_entries() == 0
    assert asked == ["tea"]
    assert MemoryEntry.objects.filter(awaits_vector=True).count() == 3


def test_a_text_that_is_refused_for_good_waits_no_more(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_without_vectors(cast, memory, monkeypatch, "tea", "coffee")
    refused = EmbeddingRejected(Reason.REFUSED, "not this text")
    use_embedder(monkeypatch, FakeEmbedder(lambda text: refused if text == "tea" else at_cosine(1.0)))
    assert backfill_entries() == 2
    assert list(vectors_by_text()) == ["coffee"]
    assert not MemoryEntry.objects.filter(awaits_vector=True).exists()


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_an_entry_that_changes_meanwhile_gets_no_vector_of_its_old_text(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    stored_without_vectors(cast, memory, monkeypatch, "tea")
    entry = MemoryEntry.objects.get()

    def reply(text: str) -> object:
        if text == "tea" and change == "edit":
            MemoryEntry.objects.filter(pk=entry.pk).update(content="coffee")
        elif text == "tea":
            assert cast.a.delete(f"{ENTRIES}/{entry.public_id}").status_code == 204
        return at_cosine(1.0)

    use_embedder(monkeypatch, FakeEmbedder(reply))  # type: ignore[arg-type]
    assert backfill_entries() == 0
    assert not EntryVector.objects.exists()
    assert MemoryEntry.objects.filter(awaits_vector=True).count() == (1 if change == "edit" else 0)


def test_a_filled_entry_is_a_candidate_of_the_next_write(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_without_vectors(cast, memory, monkeypatch, "The cat sits on the mat")
    monkeypatch.undo()
    assert backfill_entries() == 1
    record = write(cast.a, memory["id"], "The cat sits on a mat")
    assert (record["action"], record["reason"]) == ("skipped", "similar")
