"""The doing side of ingestion: extract, chunk, embed, store; each step fenced by its attempt."""

import logging
import math
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from structlog.contextvars import bound_contextvars

from documents.attempts import AttemptLost, chunk_config, claim, fail, fenced, renew_lease, settle
from documents.extractors.registry import ExtractionError, ExtractionFailed
from documents.extractors.run import extract_pages
from documents.metrics import Outcome, count_attempt
from documents.models import ChunkVector, DocumentChunk, DocumentPage, IngestionAttempt
from embeddings.services import EmbeddedBatch, embed_documents
from soat.core.errors import ServiceUnavailable
from soat.engine.chunk import MAX_CHUNK_LENGTH, PAGE_SEPARATOR, Chunk, Page, iter_chunks
from soat.files.storage import open_bytes
from soat.tenancy.text_search import Lexemes, held_text_search_config

logger = logging.getLogger(__name__)

PAGES_PER_WRITE = 50
SECONDS_PER_WRITE = 5.0
CHUNKS_PER_WRITE = 64
MIN_CHUNKS_PER_WRITE = 4
CHARACTERS_PER_WRITE = 200_000
"""Two chunks of the greatest length: about 200 windows, which no embedder takes minutes for."""
PROGRESS_STEPS = 20
ItemT = TypeVar("ItemT")


def ingest(attempt_id: int) -> None:
    """Run a queued attempt to its end. Delivered twice, late or to a dead worker's heir, it changes nothing.

    What can heal (database, file storage, disk) leaves the attempt to its lease: a successor tries again.
    What nobody expected ends it with a reason, since it would only happen again.
    """
    with bound_contextvars(attempt_id=attempt_id):
        attempt = claim(attempt_id, worker=f"{socket.gethostname()}:{os.getpid()}")
        if attempt is None:
            logger.info("Attempt %d is not waiting for a worker", attempt_id)
            return
        begun = time.monotonic()
        with bound_contextvars(document_id=attempt.document.public_id):
            outcome = _run(attempt)
            seconds = time.monotonic() - begun
            logger.info("Attempt %d: %s after %.1f seconds", attempt_id, outcome, seconds)
        count_attempt(outcome, seconds)


def _run(attempt: IngestionAttempt) -> Outcome:
    attempt_id = attempt.pk
    try:
        with _heartbeat(attempt) as keep_going:
            _extract(attempt, keep_going)
            _embed_and_store(attempt, keep_going)
        return Outcome.READY if settle(attempt) else Outcome.LOST
    except AttemptLost:
        logger.info("Attempt %d counts no more; its worker stops", attempt_id)
        return Outcome.LOST
    except ExtractionFailed as failure:
        logger.warning("Document %s failed: %s %s", attempt.document.public_id, failure.error, failure.detail)
        fail(attempt_id, error=failure.error, detail=failure.detail)
    except (OperationalError, InterfaceError, ServiceUnavailable, OSError):
        logger.exception("Attempt %d broke off; it is tried again when its lease has run out", attempt_id)
        return Outcome.BROKE_OFF
    except MemoryError:
        logger.exception("Attempt %d took too much memory", attempt_id)
        fail(attempt_id, error=ExtractionError.LIMIT_EXCEEDED, detail="The text is too large to be held in memory.")
    except Exception as error:
        logger.exception("Attempt %d met an error that nobody expected", attempt_id)
        fail(attempt_id, error=ExtractionError.PARSE_FAILED, detail=f"{type(error).__name__}: {error}")
    return Outcome.FAILED


@contextmanager
def _heartbeat(attempt: IngestionAttempt) -> Iterator[Callable[[], None]]:
    """Renew the lease from a thread while the work goes on.

    The value is a function that raises ``AttemptLost`` once the attempt counts no more. A database
    that does not answer is no reason to give up: the next beat may reach it in time.
    """
    stopped, lost = threading.Event(), threading.Event()

    def beat() -> None:
        while not stopped.wait(settings.INGESTION_LEASE_SECONDS / 3):
            try:
                if not renew_lease(attempt.pk):
                    lost.set()
                    return
            except (OperationalError, InterfaceError):
                logger.warning("The lease of attempt %d could not be renewed", attempt.pk, exc_info=True)
            finally:
                connection.close()

    def keep_going() -> None:
        if lost.is_set():
            raise AttemptLost

    context = copy_context()  # so that its lines in the log say which attempt and document they are about
    thread = threading.Thread(target=context.run, args=(beat,), name=f"lease-{attempt.pk}", daemon=True)
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

        def on_total(total: int) -> None:
            with fenced(attempt):
                _update(attempt, total_pages=total)

        index = start = 0
        pages = extract_pages(Path(copy.name), file.content_type, keep_going=keep_going, on_total=on_total)
        with closing(pages):
            for batch in batched(pages, most=PAGES_PER_WRITE, seconds=SECONDS_PER_WRITE):
                keep_going()
                rows = page_rows(attempt, batch, index=index, start=start)
                with fenced(attempt):
                    DocumentPage.objects.bulk_create(rows)
                index += len(batch)
                start = rows[-1].start + len(rows[-1].text) + len(PAGE_SEPARATOR)


def _embed_and_store(attempt: IngestionAttempt, keep_going: Callable[[], None]) -> None:
    """Cut the stored pages, embed the chunks and store them as they are embedded."""
    chunks = list(iter_chunks(stored_pages(attempt.pk), chunk_config(attempt)))
    with fenced(attempt):
        _update(attempt, total_chunks=len(chunks), warnings=warnings_of(chunks))
    done = 0
    is_down = False  # a provider that gave no answer is waited for less, until it gives one
    most = min(CHUNKS_PER_WRITE, max(MIN_CHUNKS_PER_WRITE, len(chunks) // PROGRESS_STEPS))
    for batch in batched(chunks, most=most, size_of=lambda chunk: len(chunk.text), total=CHARACTERS_PER_WRITE):
        keep_going()
        embedded = embed_documents([chunk.text for chunk in batch], urgent=is_down)
        is_down = all(text.error is not None and not text.error.permanent for text in embedded.texts)
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
    """Write chunks with their words and vectors, inside the caller's transaction.

    A chunk whose vector could not be had is stored without it and marked as waiting for it, unless
    the provider refused its text for good.
    """
    now = timezone.now()
    config = held_text_search_config(attempt.project_id)
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
            lexemes=Lexemes(chunk.text, config),
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


def batched(
    items: Iterable[ItemT],
    *,
    most: int,
    seconds: float = math.inf,
    size_of: Callable[[ItemT], int] | None = None,
    total: float = math.inf,
) -> Iterator[list[ItemT]]:
    """Yield lists of at most ``most`` items, and shorter ones so that every write is small and none is late.

    A list ends early once its first item has waited for ``seconds``, or when one more item would
    bring its size over ``total``.
    """
    batch: list[ItemT] = []
    size, since = 0, 0.0
    for item in items:
        item_size = size_of(item) if size_of else 0
        if batch and size + item_size > total:
            yield batch
            batch, size = [], 0
        if not batch:
            since = time.monotonic()
        batch.append(item)
        size += item_size
        if len(batch) == most or time.monotonic() - since >= seconds:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
