"""The ingestion of a document as a bar."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from documents.models import AttemptState, Document, DocumentStatus, IngestionAttempt
from documents.representations import progress_of
from soat.tenancy.staff.markup import Tone, bar

TONES = {
    AttemptState.QUEUED: Tone.PLAIN,
    AttemptState.PROCESSING: Tone.BUSY,
    AttemptState.READY: Tone.GOOD,
    AttemptState.FAILED: Tone.BAD,
    AttemptState.SUPERSEDED: Tone.PLAIN,
}
SECONDS_BETWEEN_LOOKS = 2


def document_bar(document: Document) -> SafeString:
    """Return how far the latest run of a document is; the attempts must be loaded."""
    attempt = document.current_attempt
    if attempt is None:
        return bar(0, Tone.PLAIN, document.get_status_display())
    text = _what(attempt)
    settled = document.settled_attempt
    if attempt.state == AttemptState.FAILED and settled is not None:
        text += f"; still searchable: {_chunks(settled.chunk_count)} of run {settled.number}"
    return bar(progress_of(document.status, attempt), TONES[AttemptState(attempt.state)], text)


def attempt_bar(attempt: IngestionAttempt) -> SafeString:
    """Return how far a run is or came."""
    done = attempt.state in {AttemptState.READY, AttemptState.SUPERSEDED} and attempt.finished_at is not None
    percent = 100 if done and attempt.total_chunks else progress_of("", attempt)
    return bar(percent, TONES[AttemptState(attempt.state)], _what(attempt))


def live_bar(document: Document, url: str) -> SafeString:
    """Return the bar of a document's page, which looks again by itself as long as the run goes on."""
    if document.status not in {DocumentStatus.PENDING, DocumentStatus.PROCESSING}:
        return format_html('<div class="soat-live">{}</div>', document_bar(document))
    return format_html(
        '<div class="soat-live" hx-get="{}" hx-trigger="every {}s" hx-select=".soat-live" hx-swap="outerHTML">{}</div>',
        url,
        SECONDS_BETWEEN_LOOKS,
        document_bar(document),
    )


def _what(attempt: IngestionAttempt) -> str:
    run = f"run {attempt.number}"
    match AttemptState(attempt.state):
        case AttemptState.QUEUED:
            return f"waiting for a worker, {run}"
        case AttemptState.PROCESSING if attempt.total_chunks:
            share = f"{attempt.chunk_count:,} of {_chunks(attempt.total_chunks)}"
            return f"{progress_of('', attempt)} %, {share}, {run}"
        case AttemptState.PROCESSING:
            return f"reading the file, {run}"
        case AttemptState.READY:
            return f"ready, {_chunks(attempt.chunk_count)}, {run}"
        case AttemptState.FAILED:
            return f"failed: {attempt.error or 'unknown reason'}, {run}"
        case AttemptState.SUPERSEDED:
            return f"superseded, {run}"


def _chunks(number: int) -> str:
    return "1 chunk" if number == 1 else f"{number:,} chunks"
