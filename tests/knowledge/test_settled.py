"""Only the chunks of a settled run are found, and a row that is deleted is gone in the same moment."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from documents.attempts import open_attempt
from documents.models import ChunkVector, Document, DocumentChunk, IngestionAttempt
from tests.conftest import Cast
from tests.knowledge.world import DOCUMENTS, contents, new_document, search
from tests.memories.rest import ENTRIES, MEMORIES, new_memory, write

OLD, NEW = "The lift is out of order.", "The lift works again."
Search = Callable[[], list[str]]


@pytest.fixture(params=["", "lift"])
def found(request: pytest.FixtureRequest, cast: Cast) -> Search:
    """What is found, once by reading and once by a query, whichever form of the statement runs."""
    return lambda: contents(search(cast.a, query=request.param, document_paths=["/"], memory_tags=["*"], limit=100))


@pytest.fixture(autouse=True, params=[10_000, 0])
def scan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowledge.nearest.EXACT_SCAN_ROWS", request.param)


def half_done(document_id: str, attempt: IngestionAttempt) -> None:
    """Store what a worker has stored in the middle of a run: a chunk with its vector."""
    document = Document.objects.get(public_id=document_id)
    row = {"project_id": document.project_id}
    settled = ChunkVector.objects.filter(chunk__document=document).first() or ChunkVector.objects.all()[0]
    chunk = DocumentChunk.objects.create(
        document=document, attempt=attempt, index=7, start=0, end=3, content=NEW, created_at=timezone.now(), **row
    )
    ChunkVector.objects.create(chunk=chunk, space=settled.space, embedding=settled.embedding, **row)


def test_the_old_chunks_are_found_until_the_new_ones_are_settled(cast: Cast, found: Search) -> None:
    document_id = new_document(cast.a, OLD, path="/lift.txt")
    attempt = open_attempt(Document.objects.get(public_id=document_id))
    half_done(document_id, attempt)
    assert found() == [OLD]
    Document.objects.update(settled_attempt=attempt)
    assert found() == [NEW]


def test_a_document_that_never_settled_is_not_found(cast: Cast, found: Search) -> None:
    document_id = new_document(cast.a, OLD, path="/lift.txt")
    new_document(cast.a, OLD, path="/other.txt")
    attempt = open_attempt(Document.objects.get(public_id=document_id))
    half_done(document_id, attempt)
    Document.objects.filter(public_id=document_id).update(settled_attempt=None)
    assert found() == [OLD]


def test_new_content_replaces_the_old_in_one_step(cast: Cast, found: Search) -> None:
    document_id = new_document(cast.a, OLD, path="/lift.txt")
    assert cast.a.patch(f"{DOCUMENTS}/{document_id}", {"content": NEW}, format="json").status_code == 200
    assert found() == [NEW]


def test_what_is_deleted_is_gone(cast: Cast, found: Search) -> None:
    document_id = new_document(cast.a, "The lift.", path="/lift.txt")
    memory = new_memory(cast.a, tags=["t"])["id"]
    entry = write(cast.a, memory, OLD)["id"]
    write(cast.a, memory, NEW, force=True)
    for path, left in [
        (f"{DOCUMENTS}/{document_id}", {OLD, NEW}),
        (f"{ENTRIES}/{entry}", {NEW}),
        (f"{MEMORIES}/{memory}", set()),
    ]:
        assert cast.a.delete(path).status_code == 204
        assert set(found()) == left


def test_an_edit_is_found_by_its_new_text(cast: Cast) -> None:
    memory = new_memory(cast.a)["id"]
    entry = write(cast.a, memory, OLD)["id"]
    write(cast.a, memory, "The user drinks green tea.")
    cast.a.put(f"{ENTRIES}/{entry}", {"content": "Penguins live in the south."}, format="json")
    (best,) = search(cast.a, query="Penguins live in the south.", memory_ids=[memory], document_ids=["none"], limit=1)
    assert (best["entry_id"], best["content"]) == (entry, "Penguins live in the south.")
    assert best["score"] == pytest.approx(1.0, abs=1e-6)


def test_a_moved_document_is_found_under_its_new_path(cast: Cast) -> None:
    document_id = new_document(cast.a, OLD, path="/old/lift.txt")
    cast.a.patch(f"{DOCUMENTS}/{document_id}", {"path": "/new/lift.txt"}, format="json")
    for query in ("", "lift"):
        assert search(cast.a, query=query, document_paths=["/old/"]) == []
        assert [row["path"] for row in search(cast.a, query=query, document_paths=["/new/"])] == ["/new/lift.txt"]
