"""With other settings than the stored vectors' nothing is mixed, and no fact is lost."""

import numpy as np
import pytest
from django.conf import LazySettings

from documents.models import ChunkVector, DocumentChunk
from embeddings.models import EmbeddingSpace
from embeddings.services import embed_documents
from memories.models import EntryVector, MemoryEntry
from tests.conftest import Cast
from tests.knowledge.world import SEARCH, contents, new_document, search
from tests.memories.rest import ENTRIES, Record, assert_error, new_memory, write

FACT, OTHER = "Alice likes tea.", "Bob lives in Rome."


@pytest.fixture
def memory(cast: Cast) -> str:
    memory: str = new_memory(cast.a)["id"]
    write(cast.a, memory, FACT)
    new_document(cast.a, FACT, path="/tea.txt")
    return memory


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("EMBEDDING_MODEL", "all-other-model", "EMBEDDING_UNAVAILABLE"),
        ("EMBEDDING_DIMENSIONS", 3, "EMBEDDING_UNAVAILABLE"),
        ("EMBEDDING_PROVIDER", "ollama", "EMBEDDING_UNAVAILABLE"),
        ("EMBEDDING_PROVIDER", "", "EMBEDDING_NOT_CONFIGURED"),
        ("EMBEDDING_MODEL", "", "EMBEDDING_NOT_CONFIGURED"),
    ],
)
def test_writes_keep_the_text_without_a_vector_and_a_query_is_refused(
    cast: Cast, memory: str, settings: LazySettings, *, name: str, value: object, code: str
) -> None:
    setattr(settings, name, value)
    written = write(cast.a, memory, OTHER)
    assert (written["action"], written["reason"]) == ("created", "no_candidate")
    assert MemoryEntry.objects.get(content=OTHER).awaits_vector
    new_document(cast.a, OTHER, path="/rome.txt")
    assert DocumentChunk.objects.get(content=OTHER).awaits_vector
    assert write(cast.a, memory, FACT.upper())["reason"] == "identical_text"
    for body in ({"query": "tea"}, {"query": "tea", "memory_ids": [memory]}):
        assert_error(cast.a.post(SEARCH, body, format="json"), 503, code)
    assert contents(search(cast.a, memory_ids=[memory])) == [FACT, OTHER]
    assert contents(search(cast.a, document_paths=["/"])) == [OTHER, FACT]
    assert EmbeddingSpace.objects.count() == EntryVector.objects.count() == ChunkVector.objects.count() == 1


def test_the_old_vectors_are_used_again_with_the_old_settings(cast: Cast, memory: str, settings: LazySettings) -> None:
    before = search(cast.a, query="tea", memory_ids=[memory])
    model = settings.EMBEDDING_MODEL
    settings.EMBEDDING_MODEL = "all-other-model"
    write(cast.a, memory, OTHER)
    settings.EMBEDDING_MODEL = model
    assert search(cast.a, query="tea", memory_ids=[memory]) == before
    repaired = cast.a.put(
        f"{ENTRIES}/{MemoryEntry.objects.get(content=OTHER).public_id}", {"content": OTHER}, format="json"
    )
    assert repaired.status_code == 200
    assert contents(search(cast.a, query=OTHER, memory_ids=[memory], limit=1)) == [OTHER]


def test_an_edit_under_other_settings_drops_the_vector(cast: Cast, memory: str, other_model: None) -> None:
    entry = MemoryEntry.objects.get()
    assert cast.a.put(f"{ENTRIES}/{entry.public_id}", {"content": OTHER}, format="json").status_code == 200
    assert not EntryVector.objects.exists()
    entry.refresh_from_db()
    assert entry.awaits_vector


@pytest.fixture
def second_space(cast: Cast, memory: str) -> EmbeddingSpace:
    """Another space that is being built beside the current one, with the vectors of its own, of other lengths too."""
    row: Record = {"memory": MemoryEntry.objects.get().memory, "project": cast.project_a}
    current = EmbeddingSpace.objects.get()
    second = EmbeddingSpace.objects.create(provider="ollama", model="same-size", dimensions=current.dimensions)
    third = EmbeddingSpace.objects.create(provider="ollama", model="tiny", dimensions=3)
    hidden = MemoryEntry.objects.create(content="Only in another space.", content_hash=b"0" * 32, revision=9, **row)
    vector = EntryVector.objects.get().embedding
    EntryVector.objects.create(entry=hidden, space=second, embedding=vector, **row)
    EntryVector.objects.create(entry=hidden, space=third, embedding=np.ones(3, dtype=np.float32), **row)
    return second


@pytest.mark.parametrize("scan", [10_000, 0])
def test_vectors_of_another_space_are_never_compared(
    cast: Cast, memory: str, second_space: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch, scan: int
) -> None:
    monkeypatch.setattr("knowledge.nearest.EXACT_SCAN_ROWS", scan)
    found = search(cast.a, query=FACT, memory_ids=[memory], document_ids=["none"])
    assert contents(found) == [FACT]
    answer = write(cast.a, memory, "Alice likes the tea.", duplicate_threshold=0)
    assert answer["content"] == FACT


def test_new_vectors_go_into_the_current_space(cast: Cast, memory: str, second_space: EmbeddingSpace) -> None:
    write(cast.a, memory, OTHER)
    current = EmbeddingSpace.objects.get(is_current=True)
    assert {row.space for row in EntryVector.objects.filter(entry__content=OTHER)} == {current}
    assert embed_documents(["x"]).space == current


def test_an_edit_drops_the_vectors_of_every_space(cast: Cast, memory: str, second_space: EmbeddingSpace) -> None:
    hidden = MemoryEntry.objects.get(content="Only in another space.")
    cast.a.put(f"{ENTRIES}/{hidden.public_id}", {"content": OTHER}, format="json")
    assert {row.space.model for row in EntryVector.objects.filter(entry=hidden)} == {"all-MiniLM-L6-v2"}
