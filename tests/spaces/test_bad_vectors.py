"""A vector that cannot be compared counts as a failed embedding, whichever provider it is from."""

import logging

import numpy as np
import pytest

from documents.models import ChunkVector, DocumentChunk
from embeddings.port import Vector
from embeddings.services import embed_documents
from memories.models import EntryVector, MemoryEntry
from tests.conftest import Cast
from tests.knowledge.world import SEARCH, new_document
from tests.memories.fakes import DIMENSIONS, FakeEmbedder, WindowedEmbedder, at_cosine, use_embedder
from tests.memories.rest import ENTRIES, assert_error, new_memory, write


def filled(value: float, *, size: int = DIMENSIONS) -> Vector:
    return np.full(size, value, dtype=np.float32)


def with_one(value: float) -> Vector:
    vector = at_cosine(0.5)
    vector[7] = value
    return vector


BAD_VECTORS = {
    "zeros": filled(0.0),
    "NaN": with_one(float("nan")),
    "infinite": with_one(float("inf")),
    "minus infinite": with_one(float("-inf")),
    "short": filled(0.1, size=DIMENSIONS - 1),
    "long": filled(0.1, size=DIMENSIONS + 1),
    "empty": filled(0.1, size=0),
}


@pytest.mark.parametrize("name", BAD_VECTORS)
def test_it_is_never_stored(cast: Cast, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    use_embedder(monkeypatch, FakeEmbedder(lambda text: BAD_VECTORS[name] if "bad" in text else at_cosine(0.5)))
    memory = new_memory(cast.a)["id"]
    bad, good = write(cast.a, memory, "a bad fact"), write(cast.a, memory, "a good fact")
    assert (bad["action"], good["action"]) == ("created", "created")
    new_document(cast.a, "a bad document")
    assert {row.entry.content for row in EntryVector.objects.all()} == {"a good fact"}
    assert not ChunkVector.objects.exists()
    assert DocumentChunk.objects.exists()
    edited = cast.a.put(f"{ENTRIES}/{good['id']}", {"content": "now a bad one"}, format="json")
    assert edited.status_code == 200
    assert not EntryVector.objects.exists()
    assert MemoryEntry.objects.count() == 2


@pytest.mark.parametrize("name", BAD_VECTORS)
def test_it_answers_no_query(cast: Cast, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It is the provider that fails here, not the caller."""
    use_embedder(monkeypatch, FakeEmbedder(lambda text: BAD_VECTORS[name]))
    for path, body in [(SEARCH, {"query": "x"}), ("/api/v1/embeddings", {"input": "x"})]:
        assert_error(cast.a.post(path, body, format="json"), 503, "EMBEDDING_UNAVAILABLE")


def test_one_bad_window_leaves_the_whole_text_without(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of which a part is invisible must not look as if it were all there."""
    use_embedder(monkeypatch, WindowedEmbedder(lambda line: BAD_VECTORS["zeros"] if "bad" in line else at_cosine(0.5)))
    memory = new_memory(cast.a)["id"]
    write(cast.a, memory, "good\nbad\ngood")
    assert not EntryVector.objects.exists()


def test_a_batch_keeps_its_good_texts(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_embedder(monkeypatch, FakeEmbedder(lambda text: BAD_VECTORS.get(text, at_cosine(0.5))))
    texts = ["fine", *BAD_VECTORS, "fine too"]
    with caplog.at_level(logging.WARNING):
        batch = embed_documents(texts)
    assert [len(text.windows) for text in batch.texts] == [1, *[0] * len(BAD_VECTORS), 1]
    assert all((text.error is None) == bool(text.windows) for text in batch.texts)
    assert f"{len(BAD_VECTORS)} of {len(texts)} texts got no vector" in caplog.text


def test_a_batch_without_an_embedder_keeps_its_order_and_length(db: None, other_model: None) -> None:
    batch = embed_documents(["a", "b", "c"])
    assert batch.space is None
    assert [text.windows for text in batch.texts] == [(), (), ()]
    assert all(text.error is not None and not text.error.permanent for text in batch.texts)
