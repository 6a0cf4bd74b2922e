"""Facts are kept when no vector can be had, and a vector never outlives its text."""

import pytest
from django.conf import LazySettings
from django.db import connection

from embeddings.port import (
    EmbedderMisconfigured,
    EmbeddingError,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    Vector,
)
from memories.models import EntryVector, MemoryEntry
from tests.conftest import Cast
from tests.memories.fakes import FailingEmbedder, FakeEmbedder, at_cosine, use_embedder
from tests.memories.rest import ENTRIES, Record, entry_of, new_memory, write

FAILURES: list[tuple[EmbeddingError, bool]] = [
    (EmbeddingUnavailable("connection refused"), True),
    (EmbeddingUnavailable("slow down", retry_after=1_000), True),
    (EmbedderMisconfigured("no such model"), True),
    (EmbeddingRejected(Reason.REFUSED, "not this text"), False),
]


def waits(entry_id: str) -> bool:
    return MemoryEntry.objects.get(public_id=entry_id).awaits_vector


@pytest.mark.parametrize(("error", "awaits"), FAILURES)
def test_a_fact_without_a_vector_is_kept(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch, error: EmbeddingError, awaits: bool
) -> None:
    use_embedder(monkeypatch, FailingEmbedder(error))
    record = write(cast.a, memory["id"], "Alice likes tea")
    assert (record["action"], record["reason"]) == ("created", "no_candidate")
    assert waits(record["id"]) is awaits
    assert not EntryVector.objects.exists()
    again = write(cast.a, memory["id"], "alice likes tea!")
    assert (again["action"], again["reason"], again["id"]) == ("skipped", "identical_text", record["id"])
    assert "similarity" not in again
    other = write(cast.a, memory["id"], "Alice likes coffee")
    assert (other["action"], other["reason"]) == ("created", "no_candidate")


def test_an_embedder_that_cannot_be_built_loses_no_fact(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise EmbedderMisconfigured("EMBEDDING_MODEL must be one that the provider has.")

    write(cast.a, memory["id"], "Bob lives in Rome")
    monkeypatch.setattr("embeddings.services.configured_embedder", broken)
    record = write(cast.a, memory["id"], "Alice likes tea")
    assert record["action"] == "created"
    assert waits(record["id"])
    answer = cast.a.put(f"{ENTRIES}/{record['id']}", {"content": "Alice likes coffee"}, format="json")
    assert answer.status_code == 200


@pytest.mark.parametrize("missing", ["EMBEDDING_PROVIDER", "EMBEDDING_MODEL"])
def test_without_a_configured_embedder_facts_are_kept(
    cast: Cast, memory: Record, settings: LazySettings, missing: str
) -> None:
    with_vector = write(cast.a, memory["id"], "Bob lives in Rome")
    setattr(settings, missing, "")
    record = write(cast.a, memory["id"], "Alice likes tea")
    assert record["action"] == "created"
    assert waits(record["id"])
    for content, entry in [("alice likes tea", record), ("BOB lives in Rome.", with_vector)]:
        again = write(cast.a, memory["id"], content)
        assert (again["action"], again["id"]) == ("skipped", entry["id"])
    assert EntryVector.objects.count() == 1


def test_a_threshold_without_a_vector_creates(cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    write(cast.a, memory["id"], "Alice likes tea")
    use_embedder(monkeypatch, FailingEmbedder())
    answer = write(cast.a, memory["id"], "Alice likes tea", duplicate_threshold=0)
    assert (answer["action"], answer["reason"]) == ("created", "no_vector")


def test_an_entry_without_a_vector_is_found_by_its_text_only(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as down:
        use_embedder(down, FailingEmbedder())
        bare = write(cast.a, memory["id"], "The API allows 100 requests per minute")
    assert write(cast.a, memory["id"], "the API allows 100 requests per minute")["id"] == bare["id"]
    restated = write(cast.a, memory["id"], "The API allows one hundred requests per minute")
    assert (restated["action"], restated["reason"]) == ("created", "no_candidate")


@pytest.mark.parametrize(("error", "awaits"), FAILURES)
def test_an_edit_drops_the_vector_that_no_longer_fits(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch, error: EmbeddingError, awaits: bool
) -> None:
    entry = write(cast.a, memory["id"], "Alice likes tea")
    with monkeypatch.context() as down:
        use_embedder(down, FailingEmbedder(error))
        answer = cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": "Bob lives in Rome"}, format="json")
    assert (answer.status_code, answer.json()["content"]) == (200, "Bob lives in Rome")
    assert not EntryVector.objects.exists()
    assert waits(entry["id"]) is awaits
    assert write(cast.a, memory["id"], "Alice likes tea")["action"] == "created"
    assert write(cast.a, memory["id"], "Bob lives in Rome")["id"] == entry["id"]


def test_an_edit_to_what_the_model_cannot_read_drops_the_vector(cast: Cast, memory: Record) -> None:
    entry = write(cast.a, memory["id"], "Alice likes tea")
    cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": "\U0001f34e"}, format="json")
    assert not EntryVector.objects.exists()
    assert not waits(entry["id"])


def test_an_edit_gives_a_vector_again(cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as down:
        use_embedder(down, FailingEmbedder())
        entry = write(cast.a, memory["id"], "Alice likes tea")
    cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": "Bob lives in Rome"}, format="json")
    assert EntryVector.objects.get().entry.public_id == entry["id"]
    assert not waits(entry["id"])


def test_writing_the_same_text_over_an_entry_repairs_its_vector(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as down:
        use_embedder(down, FailingEmbedder())
        entry = write(cast.a, memory["id"], "The API allows 100 requests per minute")
        still = cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": entry["content"]}, format="json")
        assert still.status_code == 200
        assert waits(entry["id"])
    before = entry_of(cast.a, entry["id"])
    answer = cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": entry["content"]}, format="json")
    assert answer.json() == before
    assert EntryVector.objects.get().entry.public_id == entry["id"]
    assert not waits(entry["id"])
    assert write(cast.a, memory["id"], "The API allows one hundred requests per minute")["id"] == entry["id"]


@pytest.mark.parametrize("error", [error for error, _ in FAILURES])
def test_a_failed_repair_takes_nothing_away(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch, error: EmbeddingError
) -> None:
    entry = write(cast.a, memory["id"], "Alice likes tea")
    before = EntryVector.objects.get().pk
    use_embedder(monkeypatch, FailingEmbedder(error))
    cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": "Alice likes tea", "tags": ["x"]}, format="json")
    assert EntryVector.objects.get().pk == before
    assert not waits(entry["id"])


def test_nothing_is_open_while_a_text_is_embedded(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def reply(text: str) -> Vector:
        seen.append(connection.in_atomic_block)
        return at_cosine(0.5)

    use_embedder(monkeypatch, FakeEmbedder(reply))
    memory = new_memory(committed_cast.a)
    entry = write(committed_cast.a, memory["id"], "Alice likes tea")
    committed_cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": "Bob"}, format="json")
    assert seen == [False, False]
