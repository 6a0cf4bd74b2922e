"""What happens to a document at any moment while a worker is at it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from documents import pipeline, recovery
from documents.attempts import settle
from documents.extractors.run import extract_pages
from documents.models import ChunkVector, Document, DocumentChunk, DocumentPage, IngestionAttempt
from documents.recovery import clear_retired
from embeddings.services import embed_documents
from soat.engine.chunk import Page
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.embedders import FakeEmbedder
from tests.documents.steps import (
    DOCUMENTS,
    current,
    ingest,
    ingested,
    patch,
    read,
    reingest,
    run_queued,
    search,
    texts,
    upload,
)

OLD = "".join(f"old{number:03d} " for number in range(40))
NEW = "An altogether different text."
PIECES: dict[str, Any] = {"chunk_strategy": "size", "chunk_size": 10, "chunk_overlap": 0}
STAGES = ("before the first page", "before the first chunks", "before the last chunks", "before the switch")


def reingested(cast: Cast, document: str) -> None:
    reingest(cast.a, document, **PIECES)


def deleted(cast: Cast, document: str) -> None:
    assert cast.a.delete(f"{DOCUMENTS}/{document}").status_code == 204


def changed(cast: Cast, document: str) -> None:
    assert patch(cast.a, f"{DOCUMENTS}/{document}", {"content": NEW}).status_code == 200


def given_up(cast: Cast, document: str) -> None:
    """The worker showed no sign of life until a sweep came by."""
    IngestionAttempt.objects.filter(pk=current(document).pk).update(
        lease_expires_at=timezone.now() - timedelta(seconds=1)
    )
    assert recovery.sweep() == [current(document).pk]
    assert current(document).automatic == 1


def timed_out(cast: Cast, document: str) -> None:
    """The worker lived, but showed no progress."""
    IngestionAttempt.objects.filter(pk=current(document).pk).update(progress_at=timezone.now() - timedelta(hours=1))
    assert recovery.sweep() == []
    assert current(document).error == "INGESTION_TIMEOUT"


@pytest.fixture
def at_stage(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], None]], None]:
    """Arrange for an action at a stage of the next ingestion, once."""

    def arrange(stage: str, action: Callable[[], None]) -> None:
        left = [action]

        def act() -> None:
            if left:
                left.pop()()

        def pages(*arguments: Any, **options: Any) -> Any:
            if stage == STAGES[0]:
                act()
            yield from extract_pages(*arguments, **options)

        def embed(found: list[str], **options: Any) -> Any:
            if stage == STAGES[1] or (stage == STAGES[2] and any("old039" in text for text in found)):
                act()
            return embed_documents(found, **options)

        def switch(attempt: IngestionAttempt) -> bool:
            if stage == STAGES[3]:
                act()
            return settle(attempt)

        monkeypatch.setattr(pipeline, "extract_pages", pages)
        monkeypatch.setattr(pipeline, "embed_documents", embed)
        monkeypatch.setattr(pipeline, "settle", switch)

    return arrange


@pytest.mark.usefixtures("free_embedder")
@pytest.mark.parametrize("ready_before", [False, True])
@pytest.mark.parametrize("action", [reingested, deleted, changed, given_up, timed_out])
@pytest.mark.parametrize("stage", STAGES)
def test_a_superseded_worker_leaves_nothing(
    cast: Cast,
    at_stage: Callable[[str, Callable[[], None]], None],
    stage: str,
    action: Callable[[Cast, str], None],
    ready_before: bool,
) -> None:
    if ready_before:
        document = ingested(cast.a, OLD.encode(), **PIECES)["id"]
        settled = texts(document)
        reingest(cast.a, document, **PIECES)
    else:
        document = ingest(cast.a, upload(cast.a, OLD.encode()), **PIECES)["id"]
        settled = []
    attempt = current(document)
    acted: list[str] = []

    def act() -> None:
        action(cast, document)
        acted.append(stage)

    at_stage(stage, act)
    pipeline.ingest(attempt.pk)
    assert acted == [stage]
    invariants.check()
    if action is deleted:
        models = (Document, IngestionAttempt, DocumentPage, DocumentChunk, ChunkVector)
        assert [model.objects.count() for model in models] == [0, 0, 0, 0, 0]
        return
    attempt.refresh_from_db()
    assert attempt.state == ("failed" if action is timed_out else "superseded")
    if action is changed:
        assert read(cast.a, document)["content"] == NEW
        assert {found["content"] for found in search(cast.a, "text", limit=100)} == set(texts(document))
    else:
        assert texts(document) == settled
        found = {result["content"] for result in search(cast.a, "text", limit=100)}
        assert found == set(settled)
    run_queued()
    clear_retired()
    expected = NEW if action is changed else OLD if settled or action is not timed_out else None
    shown = read(cast.a, document)
    assert shown["content"] == expected
    assert shown["status"] == ("failed" if action is timed_out else "ready")
    assert DocumentChunk.objects.count() == len(texts(document))
    assert DocumentPage.objects.count() == (1 if expected else 0)
    invariants.check()


def test_old_chunks_answer_at_every_moment(
    cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = ingested(cast.a, OLD.encode(), **PIECES)["id"]
    before = set(texts(document))
    reingest(cast.a, document, chunk_strategy="size", chunk_size=25, chunk_overlap=0)
    moments = []

    def look(found: list[str], **options: Any) -> Any:
        moments.append({result["content"] for result in search(cast.a, "text", limit=100)})
        assert read(cast.a, document)["content"] == OLD
        return embed_documents(found, **options)

    monkeypatch.setattr(pipeline, "embed_documents", look)
    run_queued()
    assert len(moments) >= 3
    assert all(moment == before for moment in moments)
    after = {result["content"] for result in search(cast.a, "text", limit=100)}
    assert after == set(texts(document)) != before


def test_progress_is_shown(cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    document = ingest(cast.a, upload(cast.a, OLD.encode()), **PIECES)["id"]
    shown = []

    def look(found: list[str], **options: Any) -> Any:
        shown.append(cast.a.get(f"{DOCUMENTS}/{document}/status").json())
        return embed_documents(found, **options)

    monkeypatch.setattr(pipeline, "embed_documents", look)
    run_queued()
    assert {(step["status"], step["total_chunks"], step["total_pages"]) for step in shown} == {("processing", 28, 1)}
    assert [step["chunk_count"] for step in shown] == list(range(0, 28, 4))
    assert [step["progress"] for step in shown] == [step["chunk_count"] * 100 // 28 for step in shown]


def test_pages_are_written_as_they_come(
    cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = ingest(cast.a, upload(cast.a, b"x"))["id"]
    stored = []

    def pages(*arguments: Any, on_total: Callable[[int], None], **options: Any) -> Any:
        on_total(120)
        for number in range(1, 121):
            stored.append((DocumentPage.objects.count(), current(document).total_pages))
            yield Page(number, f"page {number}")

    monkeypatch.setattr(pipeline, "extract_pages", pages)
    run_queued()
    assert [count for count, _ in stored] == [0] * 50 + [50] * 50 + [100] * 20
    assert {total for _, total in stored} == {120}
    assert len(texts(document)) == 120
    invariants.check()
