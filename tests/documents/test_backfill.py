"""Chunks that were stored without a vector get one when the provider is back."""

import pytest

from documents.backfill import backfill_chunks
from documents.models import ChunkVector, DocumentChunk
from tests.conftest import Cast
from tests.documents.embedders import FakeEmbedder, constant_vector, rejects, unavailable

DOCUMENTS = "/api/v1/documents"
LINES = {"content": "alpha beta\ngamma delta", "chunk_strategy": "size", "chunk_size": 11, "chunk_overlap": 0}


def use(monkeypatch: pytest.MonkeyPatch, embedder: FakeEmbedder) -> None:
    monkeypatch.setattr("embeddings.services.configured_embedder", lambda: embedder)


@pytest.fixture
def waiting(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> int:
    """A document made while the provider was down; the number of its chunks."""
    use(monkeypatch, FakeEmbedder(unavailable))
    assert cast.a.post(DOCUMENTS, LINES, format="json").status_code == 201
    assert DocumentChunk.objects.filter(awaits_vector=True).count() == 2
    assert not ChunkVector.objects.exists()
    return 2


def test_waiting_chunks_get_their_vectors_and_are_found(
    cast: Cast, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, FakeEmbedder(constant_vector))
    assert cast.a.post("/api/v1/knowledge/search", {"query": "x"}, format="json").json() == {"results": []}
    assert backfill_chunks() == waiting
    assert not DocumentChunk.objects.filter(awaits_vector=True).exists()
    results = cast.a.post("/api/v1/knowledge/search", {"query": "x"}, format="json").json()["results"]
    assert {result["content"] for result in results} == {"alpha beta\n", "gamma delta"}
    assert backfill_chunks() == 0


def test_a_provider_that_is_down_leaves_them_waiting(waiting: int) -> None:
    assert backfill_chunks() == 0
    assert DocumentChunk.objects.filter(awaits_vector=True).count() == waiting


def test_a_chunk_that_is_refused_for_good_holds_nobody_up(waiting: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakeEmbedder(rejects("alpha")))
    assert backfill_chunks() == waiting
    assert list(ChunkVector.objects.values_list("chunk__content", flat=True)) == ["gamma delta"]


def test_a_run_stops_when_its_time_is_up_and_the_next_goes_on(waiting: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakeEmbedder(constant_vector))
    monkeypatch.setattr("embeddings.backfill.ROWS_PER_BATCH", 1)
    clock = iter([0.0, 1.0, 1_000.0])
    with monkeypatch.context() as slow:
        slow.setattr("embeddings.backfill.time.monotonic", lambda: next(clock))
        assert backfill_chunks() == 1
    assert backfill_chunks() == waiting - 1


def test_chunks_of_a_deleted_document_are_passed_over(
    cast: Cast, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = cast.a.get(DOCUMENTS).json()["data"][0]["id"]

    def delete_first(text: str) -> object:
        cast.a.delete(f"{DOCUMENTS}/{document}")
        return constant_vector(text)

    use(monkeypatch, FakeEmbedder(delete_first))  # type: ignore[arg-type]
    assert backfill_chunks() == 0
    assert not ChunkVector.objects.exists()
