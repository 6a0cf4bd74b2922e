"""What a periodic sweep does, and the same code when a document is read."""

import logging
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from documents.attempts import fail, open_attempt
from documents.metrics import Outcome, count_attempt
from documents.models import AttemptState, Document, DocumentChunk, DocumentPage, IngestionAttempt
from soat.core.broker import queue_length

logger = logging.getLogger(__name__)

MAX_AUTOMATIC_ATTEMPTS = 3
REPUBLISH_AFTER = timedelta(seconds=30)
SWEEP_BATCH = 500
ROWS_PER_DELETE = 500
INGESTION_QUEUE = "ingestion"
INGESTION_TIMEOUT = "INGESTION_TIMEOUT"


def sweep() -> list[int]:
    """End or renew what stalls; return the attempts whose message has to be published."""
    publish = []
    for attempt in IngestionAttempt.objects.filter(_overdue())[:SWEEP_BATCH]:
        renewed = recover(attempt)
        if renewed is not None:
            publish.append(renewed.pk)
    return publish + _lost_messages()


def recover_on_read(document: Document) -> int | None:
    """Do for one document what the sweep does; return an attempt to publish, if any."""
    attempt = document.current_attempt
    if attempt is None or attempt.state != AttemptState.PROCESSING:
        return None
    if not IngestionAttempt.objects.filter(_overdue(), pk=attempt.pk).exists():
        return None
    renewed = recover(attempt)
    document.refresh_from_db()
    return renewed.pk if renewed else None


def _overdue() -> Q:
    now = timezone.now()
    stalled = now - timedelta(milliseconds=settings.INGESTION_STALL_TIMEOUT_MS)
    return Q(state=AttemptState.PROCESSING) & (Q(lease_expires_at__lt=now) | Q(progress_at__lt=stalled))


def recover(attempt: IngestionAttempt) -> IngestionAttempt | None:
    """Fail an attempt that makes no progress; give one whose worker died a successor, three times at most.

    Returns the successor. Looks again under the document's lock, so that a worker which came back in
    the meantime keeps its attempt.
    """
    with transaction.atomic():
        document = Document.objects.select_for_update(no_key=True).filter(current_attempt_id=attempt.pk).first()
        overdue = IngestionAttempt.objects.select_for_update(no_key=True).filter(_overdue(), pk=attempt.pk).first()
        if document is None or overdue is None:
            return None
        worker_is_dead = overdue.lease_expires_at is not None and overdue.lease_expires_at < timezone.now()
        if worker_is_dead and overdue.automatic < MAX_AUTOMATIC_ATTEMPTS:
            logger.warning("The worker of document %s died; it is queued again", document.public_id)
            count_attempt(Outcome.QUEUED_AGAIN)
            return open_attempt(document, automatic=overdue.automatic + 1)
        what = "its worker died too often" if worker_is_dead else "there was no progress for too long"
        logger.warning("The ingestion of document %s is given up: %s", document.public_id, what)
        fail(overdue.pk, error=INGESTION_TIMEOUT, detail=f"The ingestion was given up: {what}.")
        count_attempt(Outcome.GIVEN_UP)
        return None


def _lost_messages() -> list[int]:
    """Return queued attempts whose message is gone, and note that they are published again.

    Waiting in a long queue is no fault: only when the broker holds fewer messages than attempts wait
    has one been lost. Publishing one that was not lost does no harm, since a claim happens once.
    """
    waiting = IngestionAttempt.objects.filter(
        state=AttemptState.QUEUED, published_at__lt=timezone.now() - REPUBLISH_AFTER
    ).order_by("published_at")
    if not waiting.exists() or waiting.count() <= queue_length(INGESTION_QUEUE):
        return []
    ids = list(waiting.values_list("pk", flat=True)[:SWEEP_BATCH])
    IngestionAttempt.objects.filter(pk__in=ids).update(published_at=timezone.now())
    return ids


def clear_retired() -> int:
    """Delete the pages and chunks of runs that count no more, in batches; return how many runs were cleared."""
    cleared = 0
    retired = IngestionAttempt.objects.filter(state__in=[AttemptState.FAILED, AttemptState.SUPERSEDED], cleared_at=None)
    for attempt_id in list(retired.values_list("pk", flat=True)[:SWEEP_BATCH]):
        _delete_in_batches("documents_documentchunk", attempt_id)
        _delete_in_batches("documents_documentpage", attempt_id)
        # Where somebody else is deleting the same rows, the one who finds none left says so.
        chunks = DocumentChunk.objects.filter(attempt_id=OuterRef("pk"))
        pages = DocumentPage.objects.filter(attempt_id=OuterRef("pk"))
        empty = IngestionAttempt.objects.filter(~Exists(chunks), ~Exists(pages), pk=attempt_id, cleared_at=None)
        cleared += empty.update(cleared_at=timezone.now())
    return cleared


def _delete_in_batches(table: str, attempt_id: int) -> None:
    """Delete an attempt's rows of ``table``; vectors of chunks go with them by the database's own cascade."""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE attempt_id = %s LIMIT %s)",  # noqa: S608
                [attempt_id, ROWS_PER_DELETE],
            )
            if cursor.rowcount < ROWS_PER_DELETE:
                return
