"""The doing side of ingestion: extract, chunk, embed, store; each step fenced by its attempt."""

import logging
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.utils import timezone

from documents.attempts import AttemptLost, chunk_config, claim, fail, fenced, renew_lease, settle
from documents.extractors.registry import ExtractionError, ExtractionFailed
from documents.extractors.run import extract_pages
from documents.models import ChunkVector, DocumentChunk, DocumentPage, IngestionAttempt
from embeddings.services import EmbeddedBatch, embed_documents
from soat.engine.chunk import MAX_CHUNK_LENGTH, PAGE_SEPARATOR, Chunk, Page, iter_chunks
from soat.files.storage import open_bytes

logger = logging.getLogger(__name__)

PAGES_PER_WRITE = 50
CHUNKS_PER_WRITE = 64
MIN_CHUNKS_PER_WRITE = 4
PROGRESS_STEPS = 20
ItemT = TypeVar("ItemT")


def ingest(attempt_id: int) -> None:
    """Run a queued attempt to its end. Delivered twice, late or to a dead worker's heir, it changes nothing."""
    attempt = claim(attempt_id, worker=f"{socket.gethostname()}:{os.getpid()}")
    if attempt is None:
        logger.info("Attempt %d is not waiting for a worker", attempt_id)
        return
    try:
        with _heartbeat(attempt) as keep_going:
            _extract(attempt, keep_going)
            _embed_and_store(attempt, keep_going)
        settle(attempt)
    except AttemptLost:
        logger.info("Attempt %d counts no more; its worker stops", attempt_id)
    except ExtractionFailed as failure:
        logger.warning("Document %s failed: %s %s", attempt.document.public_id, failure.error, failure.detail)
        fail(attempt_id, error=failure.error, detail=failure.detail)


@contextmanager
def _heartbeat(attempt: IngestionAttempt) -> Iterator[Callable[[], None]]:
    """Renew the lease from a thread while the work goes on.

    The value is a function that raises ``AttemptLost`` once the attempt counts no more.
    """
    stopped, lost = threading.Event(), threading.Event()

    def beat() -> None:
        try:
            while not stopped.wait(settings.INGESTION_LEASE_SECONDS / 3):
                if not renew_lease(attempt.pk):
                    lost.set()
                    return
        finally:
            connection.close()

    def keep_going() -> None:
        if lost.is_set():
            raise AttemptLost

    thread = threading.Thread(target=beat, name=f"lease-{attempt.pk}", daemon=True)
    thread.start()
    try:
        yield keep_going
    finally:
        stopped.set()
        thread.join()


def _extract(attempt: IngestionAttempt, keep_going: Callable[[], None]) -> None:
    """Store the pages of the file, a few at a time."""
    file = attempt.document.file
    with tempfile.NamedTemporaryFile(prefix="soat-") as copy:
        try:
            with open_bytes(file.storage_key) as source:
                shutil.copyfileobj(source, copy)
        except FileNotFoundError:
            raise ExtractionFailed(ExtractionError.NOT_FOUND, "The bytes of the file are gone.") from None
        copy.flush()
        index = start = 0
        pages = extract_pages(Path(copy.name), file.content_type, keep_going=keep_going)
        for batch in batched(pages, PAGES_PER_WRITE):
            keep_going()
            rows = page_rows(attempt, batch, index=index, start=start)
            with fenced(attempt):
                DocumentPage.objects.bulk_create(rows)
            index += len(batch)
            start = rows[-1].start + len(rows[-1].text) + len(PAGE_SEPARATOR)
    with fenced(attempt):
        _update(attempt, total_pages=index)


def _embed_and_store(attempt: IngestionAttempt, keep_going: Callable[[], None]) -> None:
    """Cut the stored pages, embed the chunks and store them as they are embedded."""
    chunks = list(iter_chunks(stored_pages(attempt.pk), chunk_config(attempt)))
    with fenced(attempt):
        _update(attempt, total_chunks=len(chunks), warnings=warnings_of(chunks))
    done = 0
    for batch in batched(chunks, min(CHUNKS_PER_WRITE, max(MIN_CHUNKS_PER_WRITE, len(chunks) // PROGRESS_STEPS))):
        keep_going()
        embedded = embed_documents([chunk.text for chunk in batch])
        with fenced(attempt):
            store_chunks(attempt, batch, embedded)
            done += len(batch)
            _update(attempt, chunk_count=done)


def _update(attempt: IngestionAttempt, **values: Any) -> None:
    IngestionAttempt.objects.filter(pk=attempt.pk).update(**values)


def warnings_of(chunks: Sequence[Chunk]) -> list[str]:
    """Return what the owner of the document should know about its chunks."""
    cut = sum(chunk.cut for chunk in chunks)
    if not cut:
        return []
    return [f"{cut} chunks are pieces of a text over {MAX_CHUNK_LENGTH} characters, cut at the ends of paragraphs."]


def page_rows(attempt: IngestionAttempt, pages: Sequence[Page], *, index: int, start: int) -> list[DocumentPage]:
    """Return unsaved rows of ``pages``; ``start`` is the offset of the first in the document's text."""
    rows = []
    for place, page in enumerate(pages, index):
        rows.append(
            DocumentPage(
                attempt=attempt,
                project_id=attempt.project_id,
                index=place,
                number=page.number,
                start=start,
                text=page.text,
            )
        )
        start += len(page.text) + len(PAGE_SEPARATOR)
    return rows


def stored_pages(attempt_id: int) -> Iterator[Page]:
    """Yield an attempt's pages in order without holding them all."""
    rows = DocumentPage.objects.filter(attempt_id=attempt_id).order_by("index").values_list("number", "text")
    for number, text in rows.iterator(chunk_size=PAGES_PER_WRITE):
        yield Page(number, text)


def store_chunks(attempt: IngestionAttempt, chunks: Sequence[Chunk], embedded: EmbeddedBatch) -> None:
    """Write chunks with their vectors, inside the caller's transaction.

    A chunk whose vector could not be had is stored without it and marked as waiting for it, unless
    the provider refused its text for good.
    """
    now = timezone.now()
    rows = DocumentChunk.objects.bulk_create(
        DocumentChunk(
            document_id=attempt.document_id,
            attempt_id=attempt.pk,
            project_id=attempt.project_id,
            index=chunk.index,
            page=chunk.page,
            start=chunk.start,
            end=chunk.end,
            content=chunk.text,
            awaits_vector=text.error is not None and not text.error.permanent,
            created_at=now,
        )
        for chunk, text in zip(chunks, embedded.texts, strict=True)
    )
    if embedded.space is None:
        return
    ChunkVector.objects.bulk_create(
        ChunkVector(
            chunk_id=row.pk, space_id=embedded.space.pk, project_id=row.project_id, window=window, embedding=vector
        )
        for row, text in zip(rows, embedded.texts, strict=True)
        for window, vector in enumerate(text.windows)
    )


def batched(items: Iterable[ItemT], size: int) -> Iterator[list[ItemT]]:
    """Yield lists of at most ``size`` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
