"""The life of an attempt: opened, claimed, fenced, settled or failed.

Locks are always taken in the order document, attempt. Every write of a worker happens inside
``fenced``, which holds the attempt's row and refuses to go on once it is not the one that counts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from documents.models import OPEN_STATES, AttemptState, Document, DocumentStatus, IngestionAttempt
from soat.engine.chunk import ChunkConfig, ChunkStrategy

MAX_DETAIL = 2_000


class AttemptLost(Exception):
    """The attempt is no longer the one that counts: its worker has to stop without a trace."""


def open_attempt(document: Document, *, automatic: int = 0) -> IngestionAttempt:
    """Queue a new run for ``document``, whose row the caller has locked, and retire an open one.

    The run takes the document's chunk values. Pages and chunks of the settled run stay.
    """
    now = timezone.now()
    latest = document.attempts.order_by("-number").first()
    document.attempts.filter(state__in=OPEN_STATES).update(state=AttemptState.SUPERSEDED, finished_at=now)
    attempt = IngestionAttempt.objects.create(
        document=document,
        project_id=document.project_id,
        number=latest.number + 1 if latest else 1,
        automatic=automatic,
        chunk_strategy=document.chunk_strategy,
        chunk_size=document.chunk_size,
        chunk_overlap=document.chunk_overlap,
        created_at=now,
        published_at=now,
    )
    document.current_attempt = attempt
    document.status = DocumentStatus.PENDING
    document.updated_at = now
    document.save(update_fields=["current_attempt", "status", "updated_at"])
    return attempt


def lease_until() -> datetime:
    """Return the end of a lease that is taken or renewed now."""
    return timezone.now() + timedelta(seconds=settings.INGESTION_LEASE_SECONDS)


def claim(attempt_id: int, *, worker: str) -> IngestionAttempt | None:
    """Take a queued attempt for this worker, or return None: somebody else has it, or it counts no more."""
    with transaction.atomic():
        current = Document.objects.filter(current_attempt_id=attempt_id, project__deleting_at=None)
        document = current.select_for_update(no_key=True, of=("self",)).first()
        if document is None:
            return None
        now = timezone.now()
        claimed = IngestionAttempt.objects.filter(pk=attempt_id, state=AttemptState.QUEUED).update(
            state=AttemptState.PROCESSING,
            claimed_at=now,
            progress_at=now,
            lease_expires_at=lease_until(),
            worker=worker,
        )
        if not claimed:
            return None
        Document.objects.filter(pk=document.pk).update(status=DocumentStatus.PROCESSING)
        return IngestionAttempt.objects.select_related("document__file", "project").get(pk=attempt_id)


def renew_lease(attempt_id: int) -> bool:
    """Say that the worker lives. False: the attempt counts no more."""
    return bool(
        IngestionAttempt.objects.filter(pk=attempt_id, state=AttemptState.PROCESSING).update(
            lease_expires_at=lease_until()
        )
    )


@contextmanager
def fenced(attempt: IngestionAttempt) -> Iterator[None]:
    """Open a transaction in which ``attempt`` is locked and known to count. Raises ``AttemptLost``."""
    with transaction.atomic():
        held = IngestionAttempt.objects.filter(pk=attempt.pk, state=AttemptState.PROCESSING)
        # A project that is being deleted takes nothing any more.
        counting = held.filter(project__deleting_at=None).select_for_update(no_key=True, of=("self",))
        if not counting.values_list("pk", flat=True).first():
            raise AttemptLost
        yield
        held.update(progress_at=timezone.now(), lease_expires_at=lease_until())


def settle(attempt: IngestionAttempt) -> bool:
    """Make ``attempt`` the one that counts: the switch of a document from old chunks to new. False: too late."""
    with transaction.atomic():
        document = Document.objects.select_for_update(no_key=True).filter(pk=attempt.document_id).first()
        now = timezone.now()
        if document is None or document.current_attempt_id != attempt.pk:
            return False
        settled = IngestionAttempt.objects.filter(pk=attempt.pk, state=AttemptState.PROCESSING).update(
            state=AttemptState.READY, finished_at=now, lease_expires_at=None
        )
        if not settled:
            return False
        retire_settled(document)
        Document.objects.filter(pk=document.pk).update(
            settled_attempt_id=attempt.pk, status=DocumentStatus.READY, updated_at=now
        )
        return True


def retire_settled(document: Document) -> None:
    """Say of the settled run that it counts no more; the caller holds the document's row and settles another."""
    if document.settled_attempt_id is not None:
        IngestionAttempt.objects.filter(pk=document.settled_attempt_id).update(state=AttemptState.SUPERSEDED)


def fail(attempt_id: int, *, error: str, detail: str) -> bool:
    """End an open attempt with its reason; chunks of an earlier settled run stay searchable. False: too late."""
    with transaction.atomic():
        document = Document.objects.select_for_update(no_key=True).filter(current_attempt_id=attempt_id).first()
        now = timezone.now()
        failed = IngestionAttempt.objects.filter(pk=attempt_id, state__in=OPEN_STATES).update(
            state=AttemptState.FAILED,
            error=error,
            error_detail=detail[:MAX_DETAIL].replace("\x00", ""),
            finished_at=now,
            lease_expires_at=None,
        )
        if failed and document is not None:
            Document.objects.filter(pk=document.pk).update(status=DocumentStatus.FAILED, updated_at=now)
        return bool(failed)


def chunk_config(attempt: IngestionAttempt) -> ChunkConfig:
    """Return how the attempt cuts its text."""
    return ChunkConfig(ChunkStrategy(attempt.chunk_strategy), attempt.chunk_size, attempt.chunk_overlap)
