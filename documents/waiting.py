"""Waiting for the run of a document to end, and reading the document as it is then."""

import time

from django.conf import settings

from documents.models import OPEN_STATES, Document, IngestionAttempt
from documents.querysets import NO_DOCUMENT
from documents.recovery import recover_on_read
from documents.tasks import ingest
from soat.core.broker import publish_on_commit
from soat.core.db import give_back_connection
from soat.core.errors import NotFound, SoatError, TooLarge
from soat.files.models import File

FIRST_POLL_SECONDS = 0.02
SLOWEST_POLL_SECONDS = 0.25


def refuse_large_wait(file: File, *, wait: bool) -> None:
    """Raise ``TooLarge`` when somebody wants to wait for a file that is too large for that."""
    if wait and (file.size or 0) > settings.SYNC_INGESTION_MAX_BYTES:
        raise TooLarge(
            f"A file over {settings.SYNC_INGESTION_MAX_BYTES} bytes is ingested in the background: leave wait out.",
            code="FILE_TOO_LARGE_FOR_SYNC",
        )


def await_settled(document: Document) -> bool:
    """Wait for the current run to end, for at most ``SYNC_WAIT_TIMEOUT_MS``; tell whether it did.

    The connection goes back to the pool between two looks. Must be called outside of a transaction.
    """
    deadline = time.monotonic() + settings.SYNC_WAIT_TIMEOUT_MS / 1_000
    pause = FIRST_POLL_SECONDS
    while True:
        states = IngestionAttempt.objects.filter(document_id=document.pk, state__in=OPEN_STATES)
        if not states.exists():
            return True
        if time.monotonic() >= deadline:
            return False
        give_back_connection()
        time.sleep(pause)
        pause = min(pause * 1.5, SLOWEST_POLL_SECONDS)


def current_state(document: Document) -> Document:
    """Return the document after ending or renewing a run of it that stalls."""
    renewed = recover_on_read(document)
    if renewed is not None:
        publish_on_commit(ingest, renewed)
    return reread(document)


def reread(document: Document) -> Document:
    """Return the document as it is now, with what its representation needs. Raises ``NotFound``."""
    rows = Document.objects.select_related("project", "file", "current_attempt", "settled_attempt")
    fresh = rows.filter(pk=document.pk).first()
    if fresh is None:
        raise gone()
    return fresh


def gone() -> SoatError:
    """Return the error for a document that is not there any more."""
    return NotFound(NO_DOCUMENT)
