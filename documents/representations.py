"""What documents look like on the wire; a field without a value is left out."""

from typing import Any

from documents.models import AttemptState, Document, DocumentPage, DocumentStatus, IngestionAttempt
from soat.core.models import wire_time
from soat.engine.chunk import PAGE_SEPARATOR


def represent_document(document: Document) -> dict[str, Any]:
    """Return a ``DocumentRecord`` without its content; ``project`` and ``file`` must be loaded."""
    record: dict[str, Any] = {
        "id": document.public_id,
        "file_id": document.file.public_id,
        "project_id": document.project.public_id,
        "path": document.path,
        "filename": document.file.filename,
        "content_type": document.file.content_type,
        "size": document.file.size,
        "status": document.status,
        "title": document.title,
        "metadata": document.metadata,
        "tags": document.tags,
        "chunk_strategy": document.chunk_strategy,
        "chunk_size": document.chunk_size,
        "chunk_overlap": document.chunk_overlap,
        "created_at": wire_time(document.created_at),
        "updated_at": wire_time(document.updated_at),
    }
    return {name: value for name, value in record.items() if value is not None}


def represent_document_with_content(document: Document) -> dict[str, Any]:
    """Return a ``DocumentRecord`` with the text of the settled run: its pages, not its overlapping windows."""
    record = {**represent_document(document), "content": document_content(document)}
    if document.settled_attempt is not None and document.settled_attempt.warnings:
        record["warnings"] = document.settled_attempt.warnings
    return record


def document_content(document: Document) -> str | None:
    """Return the document's text, or None while there is none."""
    if document.settled_attempt_id is None:
        return None
    pages = DocumentPage.objects.filter(attempt_id=document.settled_attempt_id).order_by("index")
    return PAGE_SEPARATOR.join(pages.values_list("text", flat=True))


def represent_ingested_document(document: Document) -> dict[str, Any]:
    """Return an ``IngestedDocumentRecord``."""
    return {**represent_document(document), "chunk_count": chunk_count(document)}


def chunk_count(document: Document) -> int:
    """Return the chunks of the latest run, or after a failed one those that are still searchable."""
    current, settled = document.current_attempt, document.settled_attempt
    if current is not None and current.state != AttemptState.FAILED:
        return current.chunk_count
    return settled.chunk_count if settled is not None else 0


def represent_document_status(document: Document) -> dict[str, Any]:
    """Return a ``DocumentStatusRecord``; the attempts must be loaded."""
    attempt = document.current_attempt
    failed = document.status == DocumentStatus.FAILED
    return {
        "id": document.public_id,
        "status": document.status,
        "chunk_count": chunk_count(document),
        "total_chunks": attempt.total_chunks if attempt else None,
        "total_pages": attempt.total_pages if attempt else None,
        "progress": None if failed else progress_of(document.status, attempt),
        "error": attempt.error if failed and attempt else None,
    }


def progress_of(status: str, attempt: IngestionAttempt | None) -> int:
    """Return 0 to 99 while the work goes on, 100 once the document is ready."""
    if status == DocumentStatus.READY:
        return 100
    if attempt is None or not attempt.total_chunks:
        return 0
    return min(99, attempt.chunk_count * 100 // attempt.total_chunks)
