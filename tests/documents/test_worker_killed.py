"""A worker that is killed in the middle of a large document."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from documents.models import AttemptState, ChunkVector, DocumentChunk, DocumentPage, IngestionAttempt
from soat.celery import app
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.pdfs import pdf, sentence
from tests.documents.steps import PDF, chunks, current, ingest, search, status, texts, upload
from tests.documents.workers import kill_group, running

PAGES = 300
FILLER = "The rest of this page is there to give the model some work to do, and it is the same on every page. " * 6


def wait_for(holds: Callable[[], Any], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_without_any_help_the_document_becomes_ready_with_exactly_its_chunks(
    committed_cast: Cast, tmp_path: Path
) -> None:
    client = committed_cast.a
    app.control.purge()
    raw = pdf([f"{sentence(number)} {FILLER}" for number in range(1, PAGES + 1)])
    with running(tmp_path, INGESTION_LEASE_SECONDS="2", SWEEP_INTERVAL_SECONDS="1") as processes:
        document = ingest(client, upload(client, raw, "large.pdf", PDF))["id"]
        first = current(document)
        processes.beat()
        worker = processes.worker()
        wait_for(lambda: DocumentChunk.objects.filter(attempt=first).count() >= 20, seconds=60)
        kill_group(worker)
        first.refresh_from_db()
        assert first.state == AttemptState.PROCESSING, "it was killed in the middle of its work"
        assert 20 <= DocumentChunk.objects.count() < PAGES
        assert status(client, document)["status"] == "processing"
        assert search(client, sentence(1)) == []

        processes.worker()
        wait_for(lambda: status(client, document)["status"] not in {"pending", "processing"}, seconds=60)
        wait_for(lambda: not IngestionAttempt.objects.filter(state="superseded", cleared_at=None).exists(), seconds=20)

    shown = status(client, document)
    assert (shown["status"], shown["error"], shown["chunk_count"], shown["total_pages"]) == (
        "ready",
        None,
        PAGES,
        PAGES,
    )
    assert (current(document).number, current(document).automatic) == (2, 1)
    assert [(chunk.index, chunk.page) for chunk in chunks(document)] == [(n, n + 1) for n in range(PAGES)]
    for number, text in enumerate(texts(document), 1):
        assert " ".join(text.split()).startswith(sentence(number))
    assert DocumentChunk.objects.count() == DocumentPage.objects.count() == ChunkVector.objects.count() == PAGES
    for number in (1, 57, 300):
        (found,) = search(client, texts(document)[number - 1], limit=1)
        assert found["page"] == number
    invariants.check()
