"""Accepting work on documents: validate, record, enqueue on commit."""

import contextlib
import io
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from documents.attempts import open_attempt, retire_settled
from documents.extractors.registry import Reader, reader_for
from documents.models import (
    AttemptState,
    Document,
    DocumentPage,
    DocumentStatus,
)
from documents.pipeline import page_rows, store_chunks, warnings_of
from documents.querysets import NO_DOCUMENT
from documents.tasks import clear, ingest
from documents.waiting import gone, reread
from embeddings.services import embed_documents
from soat.audit.services import record
from soat.core.broker import publish_on_commit
from soat.core.db import short_transaction, violated_constraint
from soat.core.errors import Conflict, NotFound, ServiceUnavailable, ValidationFailed
from soat.engine.chunk import (
    ChunkConfig,
    ChunkConfigRefused,
    ChunkRequest,
    ChunkStrategy,
    Page,
    iter_chunks,
    resolve_config,
)
from soat.engine.match import join_path, split_path
from soat.files.models import File
from soat.files.services import (
    NewFile,
    insert_file_row,
    path_taken,
    record_deleted_file,
    refuse_taken_path,
    release_bytes,
)
from soat.files.storage import discard_bytes, save_bytes
from soat.tenancy.access import Access
from soat.tenancy.models import Project

logger = logging.getLogger(__name__)

DEFAULT_FILENAME = "document.txt"
PLAIN_TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A plain-text document to be made."""

    content: str
    path: str | None
    filename: str | None
    title: str | None
    metadata: dict[str, Any] | None
    tags: dict[str, str] | None
    chunking: ChunkRequest


def create_document(*, project: Project, new: NewDocument) -> Document:
    """Make a plain-text document, ready when this returns, also when no vectors can be had.

    Raises ``Conflict`` for a path that is taken and ``ValidationFailed`` for values that make no chunks.
    """
    config = _resolved(new.chunking, default=ChunkStrategy.WHOLE)
    filename = new.filename or DEFAULT_FILENAME
    path = path_of_new(new.path, new.filename)
    _refuse_taken_path(project, path)
    refuse_taken_path(project=project, path=path)
    chunks, embedded = _cut_and_embed(new.content, config)
    raw = new.content.encode()
    key = _stored_text(project, raw)
    new_file = NewFile(
        prefix=split_path(path)[0] if path else "/",
        filename=filename,
        path=path,
        content_type=PLAIN_TEXT,
        tags=new.tags or {},
    )
    try:
        with transaction.atomic():
            file = insert_file_row(project=project, new=new_file, size=len(raw), storage_key=key)
            document = _insert_document(
                project=project,
                file=file,
                owns_file=True,
                path=path,
                title=new.title,
                metadata=new.metadata,
                tags=new.tags,
                config=config,
            )
            _settle_text(document, new.content, chunks, embedded)
    except BaseException:
        discard_bytes(key)
        raise
    return document


def path_of_new(path: str | None, filename: str | None) -> str | None:
    """Return the path of a plain-text document: the one that was sent, else its file name at the top."""
    return path or (join_path("/", filename) if filename else None)


def path_of_ingested(file: File, path_prefix: str | None) -> str | None:
    """Return the path of a file's document: in the folder that was sent, else the file's own."""
    return join_path(path_prefix, file.filename) if path_prefix else file.path


def ingest_document(
    *,
    project: Project,
    file: File,
    path_prefix: str | None,
    tags: dict[str, str] | None,
    chunking: ChunkRequest,
    access: Access | None = None,
) -> Document:
    """Record a document for a file and queue its ingestion.

    ``access`` is the caller's: only a document that it may read is named in a refusal; None reads all.
    Raises ``ValidationFailed`` (``UNSUPPORTED_FILE_TYPE``, ``FILE_NOT_FOUND`` for a file that has just
    been deleted) and ``Conflict`` (``FILE_ALREADY_INGESTED``, ``NAME_CONFLICT``).
    """
    config = _resolved(chunking, default=ChunkStrategy.PAGE)
    if reader_for(file.content_type) is None:
        raise ValidationFailed(
            f"There is no reader for files of type {file.content_type}.", code="UNSUPPORTED_FILE_TYPE"
        )
    path = path_of_ingested(file, path_prefix)
    with short_transaction():
        # Held so that the file neither goes away nor gets another document before this one stands on it.
        if not File.objects.select_for_update(no_key=True).filter(pk=file.pk).exists():
            raise ValidationFailed("file_id names no file of this project.", code="FILE_NOT_FOUND")
        _refuse_ingested(file, access)
        _refuse_taken_path(project, path)
        document = _insert_document(
            project=project,
            file=file,
            owns_file=False,
            path=path,
            title=file.filename,
            metadata=None,
            tags=tags,
            config=config,
        )
        attempt = open_attempt(document)
        publish_on_commit(ingest, attempt.pk)
    return document


def reingest_document(*, document: Document, chunking: ChunkRequest, access: Access | None = None) -> Document:
    """Queue a new run from the stored file. What is searchable now stays so until the new chunks are ready.

    ``access`` as ``update_document``.
    """
    default = ChunkStrategy.WHOLE if document.owns_file else ChunkStrategy.PAGE
    config = _resolved(chunking, default=default)
    with short_transaction():
        locked = _locked(document, access)
        before = _config_fields(locked)
        _apply_config(locked, config)
        _record(locked, before, _config_fields(locked))
        locked.save(update_fields=["chunk_strategy", "chunk_size", "chunk_overlap"])
        attempt = open_attempt(locked)
        publish_on_commit(ingest, attempt.pk)
    return reread(document)


def update_document(*, document: Document, changes: Mapping[str, Any], access: Access | None = None) -> Document:
    """Change fields; a new ``content`` is cut with the document's own values and settled at once.

    ``access`` is asked again under the lock, None: whoever calls has the right. Raises ``ValidationFailed`` for
    new content where the file is no text, ``Conflict`` for a path that is taken, ``NotFound``, ``Forbidden``, and
    ``ServiceUnavailable`` when the chunk values were changed while the content was embedded.
    """
    fields = dict(changes)
    content = fields.pop("content", None)
    if content is None:
        with short_transaction():
            _apply_changes(_locked(document, access), fields, access)
        return reread(document)
    if reader_for(document.file.content_type) is not Reader.TEXT:
        kind = document.file.content_type
        raise _refused("content", f"can be changed for text only; this document is made of a file of type {kind}.")
    config = _own_config(document)
    chunks, embedded = _cut_and_embed(content, config)
    raw = content.encode()
    key = _stored_text(document.project, raw)
    try:
        with short_transaction():
            locked = _locked(document, access)
            if _own_config(locked) != config:
                raise ServiceUnavailable(
                    "The document's chunk values have just been changed; try again.", retry_after=1
                )
            _apply_changes(locked, fields, access)
            if (old := _settled_text(locked)) != content:
                _record(locked, {"content": old}, {"content": content})
            old_key = _replace_bytes(locked.file_id, key=key, size=len(raw), content_type=document.file.content_type)
            _settle_text(locked, content, chunks, embedded)
            release_bytes(old_key)
            publish_on_commit(clear)
    except BaseException:
        discard_bytes(key)
        raise
    return reread(document)


def set_document_tags(
    *, document: Document, tags: dict[str, str], merge: bool, access: Access | None = None
) -> dict[str, str]:
    """Replace the tags, or merge into them; return what they are now. ``access`` as ``update_document``."""
    with short_transaction():
        locked = _locked(document, access)
        result = {**(locked.tags or {}), **tags} if merge else tags
        _apply_changes(locked, {"tags": result}, access)
    return result


def delete_document(*, document: Document, access: Access | None = None) -> None:
    """Delete a document with its chunks in one transaction, and the file that it made itself.

    ``access`` as ``update_document``.
    """
    with short_transaction():
        locked = _locked(document, access)
        # A worker holds its attempt's row while it writes rows that refer to the document: wait for it first.
        list(locked.attempts.select_for_update().values_list("pk"))
        file = locked.file
        _record(locked, {name: getattr(locked, name) for name in ("path", "title", "tags", "metadata")}, None)
        locked.delete()
        if locked.owns_file:
            record_deleted_file(file)
            file.delete()
            release_bytes(file.storage_key)


def count_documents(project_id: int, limit: int) -> int:
    """Return how many documents stand in a project, counted up to ``limit``."""
    return Document.objects.filter(project_id=project_id)[:limit].count()


def purge_documents(project_id: int, limit: int) -> int:
    """Delete at most ``limit`` documents of a project, and return how many were found."""
    found = list(Document.objects.filter(project_id=project_id).order_by("pk")[:limit])
    for document in found:
        with contextlib.suppress(NotFound):
            delete_document(document=document)
    return len(found)


def _locked(document: Document, access: Access | None = None) -> Document:
    """Hold a document's row. With ``access`` it is one on which the action is allowed as it is now, tags and all."""
    rows = Document.objects.select_for_update(no_key=True, of=("self",)).select_related("file", "project")
    if access is not None:
        return access.get(rows, document.public_id, NO_DOCUMENT)
    locked = rows.filter(pk=document.pk).first()
    if locked is None:
        raise gone()
    return locked


def _refused(field: str, message: str) -> ValidationFailed:
    return ValidationFailed(f"{field} {message}", meta={"fields": {field: message}})


def _resolved(chunking: ChunkRequest, *, default: ChunkStrategy) -> ChunkConfig:
    try:
        return resolve_config(chunking, None, default)
    except ChunkConfigRefused as error:
        raise ValidationFailed(str(error), meta={"fields": {error.field.value: str(error)}}) from None


def _own_config(document: Document) -> ChunkConfig:
    return ChunkConfig(ChunkStrategy(document.chunk_strategy), document.chunk_size, document.chunk_overlap)


def _apply_config(document: Document, config: ChunkConfig) -> None:
    document.chunk_strategy = config.strategy
    document.chunk_size = config.size
    document.chunk_overlap = config.overlap


def _cut_and_embed(content: str, config: ChunkConfig) -> tuple[list[Any], Any]:
    chunks = list(iter_chunks([Page(1, content)], config))
    if not chunks:
        raise _refused("content", "must hold text that can be seen.")
    return chunks, embed_documents([chunk.text for chunk in chunks], urgent=True)


def _stored_text(project: Project, raw: bytes) -> str:
    key = f"{project.public_id}/{secrets.token_hex(16)}"
    save_bytes(key, io.BytesIO(raw))
    return key


def _insert_document(*, project: Project, file: File, config: ChunkConfig, **fields: Any) -> Document:
    document = Document(project=project, file=file, **fields)
    _apply_config(document, config)
    try:
        with transaction.atomic():
            document.save(force_insert=True)
            after = {name: getattr(document, name) for name in ("path", "title", "tags", "metadata", "chunk_strategy")}
            _record(document, None, {"file_id": file.public_id, **after})
    except IntegrityError as error:
        if violated_constraint(error) == "document_path_unique":
            raise path_taken(document.path) from None
        raise
    return document


def _config_fields(document: Document) -> dict[str, Any]:
    return {name: getattr(document, name) for name in ("chunk_strategy", "chunk_size", "chunk_overlap")}


def _settled_text(document: Document) -> str:
    """Return the beginning of what the document says now, for the audit trail: its first page."""
    pages = DocumentPage.objects.filter(attempt_id=document.settled_attempt_id).order_by("index")
    return pages.values_list("text", flat=True).first() or ""


def _record(document: Document, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
    record("document", document.public_id, project_id=document.project_id, before=before, after=after)


def _settle_text(document: Document, content: str, chunks: list[Any], embedded: Any) -> None:
    """Make ``content`` the settled text of a document whose row the caller holds."""
    attempt = open_attempt(document)
    now = timezone.now()
    retire_settled(document)
    attempt.state = AttemptState.READY
    attempt.claimed_at = attempt.progress_at = attempt.finished_at = now
    attempt.total_pages, attempt.total_chunks, attempt.chunk_count = 1, len(chunks), len(chunks)
    attempt.warnings = warnings_of(chunks)
    attempt.save()
    rows = page_rows(attempt, [Page(1, content)], index=0, start=0)
    type(rows[0]).objects.bulk_create(rows)
    store_chunks(attempt, chunks, embedded)
    document.settled_attempt = attempt
    document.status = DocumentStatus.READY
    document.updated_at = now
    document.save(update_fields=["settled_attempt", "status", "updated_at"])


def _apply_changes(document: Document, changes: Mapping[str, Any], access: Access | None) -> None:
    if access is not None:
        access.require_changed(document, changes)
    changed = {name: value for name, value in changes.items() if getattr(document, name) != value}
    if not changed:
        return
    before = {name: getattr(document, name) for name in changed}
    for name, value in changed.items():
        setattr(document, name, value)
    document.updated_at = timezone.now()
    try:
        with transaction.atomic():
            document.save(update_fields=[*changed, "updated_at"])
            _record(document, before, changed)
            if document.owns_file and {"path", "tags"} & set(changed):
                _follow_with_own_file(document)
    except IntegrityError as error:
        if violated_constraint(error) in {"document_path_unique", "file_path_unique"}:
            raise path_taken(document.path) from None
        raise


def _follow_with_own_file(document: Document) -> None:
    """Give the file that a text made itself the text's path and tags: what these open or close is the same text."""
    File.objects.filter(pk=document.file_id).update(
        path=document.path,
        prefix=split_path(document.path)[0] if document.path else "/",
        tags=document.tags or {},
        updated_at=document.updated_at,
    )


def _replace_bytes(file_id: int, *, key: str, size: int, content_type: str) -> str:
    """Point the file's row at new bytes in UTF-8; return the key of the old ones."""
    file = File.objects.select_for_update(no_key=True).get(pk=file_id)
    old_key = file.storage_key
    file.storage_key, file.size = key, size
    file.content_type = content_type.partition(";")[0].strip()
    file.updated_at = timezone.now()
    file.save(update_fields=["storage_key", "size", "content_type", "updated_at"])
    return old_key


def _refuse_ingested(file: File, access: Access | None) -> None:
    rows = Document.objects.filter(file=file)
    existing = rows.first()
    if existing is None:
        return
    is_hidden = access is not None and access.hidden(rows, file.project_id).exists()
    raise Conflict(
        "The file has been ingested already: re-ingest its document.",
        code="FILE_ALREADY_INGESTED",
        meta={"file_id": file.public_id, **({} if is_hidden else {"document_id": existing.public_id})},
    )


def _refuse_taken_path(project: Project, path: str | None) -> None:
    if path is not None and Document.objects.filter(project=project, path=path).exists():
        raise path_taken(path)
