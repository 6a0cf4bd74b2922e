"""Taking files in and giving them up: the row and the bytes go together."""

import mimetypes
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import IO, Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from soat.audit.services import record
from soat.core.db import short_transaction, violated_constraint
from soat.core.errors import Conflict, NotFound
from soat.engine.match import join_path
from soat.files.models import File, ReleasedBytes
from soat.files.querysets import NO_FILE
from soat.files.storage import discard_bytes, save_bytes
from soat.tenancy.access import Access
from soat.tenancy.models import Project

ROOT = "/"
FALLBACK_NAME = "file"
RELEASE_GRACE = timedelta(minutes=1)
"""For so long whoever gave bytes up is still expected to delete them."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """What is known of a file before it is stored. ``path`` None: it can be found by its id only."""

    prefix: str
    filename: str
    path: str | None
    content_type: str
    metadata: str | None = None
    tags: dict[str, str] = field(default_factory=dict)


def described_file(
    *, prefix: str | None, filename: str | None, declared: str | None, metadata: str | None = None
) -> NewFile:
    """Return what is known of a file that is to be stored: its path follows from folder and name.

    ``declared`` is the content type that its sender says it has.
    """
    folder, name = prefix or ROOT, filename or FALLBACK_NAME
    return NewFile(
        prefix=folder,
        filename=name,
        path=join_path(folder, name),
        content_type=guess_content_type(name, declared),
        metadata=metadata,
    )


def guess_content_type(filename: str, declared: str | None) -> str:
    """Return the declared type, else the one that the name's ending means, else ``application/octet-stream``."""
    guessed, packed = mimetypes.guess_type(filename)
    if declared and declared != "application/octet-stream":
        return declared
    if filename.lower().endswith((".md", ".markdown")):
        return "text/markdown"
    return (None if packed else guessed) or declared or "application/octet-stream"


def create_file(
    *, project: Project, new: NewFile, source: IO[bytes], size: int, claim: Callable[[], None] | None = None
) -> File:
    """Store the bytes, then the row; a failure leaves neither. Raises ``Conflict`` for a path that is taken.

    ``claim`` runs in the transaction of the row, and may refuse by raising.
    """
    refuse_taken_path(project=project, path=new.path)
    key = _new_key(project)
    save_bytes(key, source)
    try:
        with transaction.atomic():
            if claim is not None:
                claim()
            return insert_file_row(project=project, new=new, size=size, storage_key=key)
    except BaseException:
        discard_bytes(key)
        raise


def create_file_record(*, project: Project, new: NewFile, size: int | None) -> File:
    """Write the row of a file whose bytes are kept elsewhere: here there are none to download or to ingest.

    ``size`` is what the caller says of them. Raises ``Conflict`` for a path that is taken.
    """
    return insert_file_row(project=project, new=new, size=size, storage_key=_new_key(project))


def _new_key(project: Project) -> str:
    return f"{project.public_id}/{secrets.token_hex(16)}"


def update_file(*, file: File, changes: Mapping[str, Any], access: Access | None = None) -> File:
    """Change a file's metadata, or its ``prefix`` and ``filename`` and with them its path.

    A document that stands on the file keeps its own path. ``access`` is asked again under the lock, None: whoever
    calls has the right. Raises ``Conflict`` for a path that is taken, ``NotFound`` for a file that is gone, and
    ``Forbidden``.
    """
    path = None
    try:
        with short_transaction():
            locked = _locked(file, access)
            # Folder and name may have changed since the caller looked: the path follows from what they are now.
            wanted = {**changes, **path_change(locked, changes)}
            path = wanted.get("path")
            if access is not None:
                access.require_changed(locked, wanted)
            changed = {name: value for name, value in wanted.items() if getattr(locked, name) != value}
            _save(locked, changed)
    except IntegrityError as error:
        if violated_constraint(error) == "file_path_unique":
            raise path_taken(path) from None
        raise
    return locked


def path_change(file: File, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the path that follows from a change of folder or name, nothing where neither changes."""
    if not {"prefix", "filename"} & set(changes):
        return {}
    return {"path": join_path(changes.get("prefix", file.prefix), changes.get("filename", file.filename))}


def set_file_tags(*, file: File, tags: dict[str, str], merge: bool, access: Access | None = None) -> dict[str, str]:
    """Replace the tags, or merge into them; return what they are now. ``access`` and errors as ``update_file``."""
    with short_transaction():
        locked = _locked(file, access)
        result = {**locked.tags, **tags} if merge else tags
        if access is not None:
            access.require_changed(locked, {"tags": result})
        _save(locked, {"tags": result} if locked.tags != result else {})
    return result


def _locked(file: File, access: Access | None = None) -> File:
    """Hold a file's row. With ``access`` it is one on which the action is allowed as it is now, tags and all."""
    rows = File.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
    if access is not None:
        return access.get(rows, file.public_id, NO_FILE)
    row = rows.filter(pk=file.pk).first()
    if row is None:
        raise NotFound(NO_FILE)
    return row


def _save(file: File, changed: Mapping[str, Any]) -> None:
    before = {name: getattr(file, name) for name in changed}
    for name, value in changed.items():
        setattr(file, name, value)
    if changed:
        file.updated_at = timezone.now()
        file.save(update_fields=[*changed, "updated_at"])
        record("file", file.public_id, project_id=file.project_id, before=before, after=changed)


def insert_file_row(*, project: Project, new: NewFile, size: int | None, storage_key: str) -> File:
    """Write the row of a file whose bytes are stored. Raises ``Conflict`` for a path that is taken."""
    now = timezone.now()
    try:
        with transaction.atomic():
            file = File.objects.create(
                project=project,
                prefix=new.prefix,
                filename=new.filename,
                path=new.path,
                content_type=new.content_type,
                size=size,
                metadata=new.metadata,
                tags=new.tags,
                storage_key=storage_key,
                created_at=now,
                updated_at=now,
            )
            after = {name: getattr(file, name) for name in ("filename", "path", "content_type", "size", "metadata")}
            record("file", file.public_id, project_id=project.pk, after=after)
            return file
    except IntegrityError as error:
        if violated_constraint(error) == "file_path_unique":
            raise path_taken(new.path) from None
        raise


def refuse_taken_path(*, project: Project, path: str | None) -> None:
    """Raise ``Conflict`` when another file of the project has ``path``."""
    if path is not None and File.objects.filter(project=project, path=path).exists():
        raise path_taken(path)


def path_taken(path: str | None) -> Conflict:
    """Return the error for a path that another row of the project has."""
    return Conflict(f"The path {path} is taken in this project.", meta={"path": path})


def release_bytes(key: str) -> None:
    """Give up the bytes under ``key`` with the transaction that is open.

    They are deleted once it is committed; where the storage fails then, a task goes on trying.
    """
    ReleasedBytes.objects.get_or_create(storage_key=key)
    transaction.on_commit(lambda: _discard_released(key))


def _discard_released(key: str) -> None:
    if discard_bytes(key):
        ReleasedBytes.objects.filter(storage_key=key).delete()


def discard_released(*, limit: int = 1_000) -> None:
    """Delete bytes that were given up and could not be deleted then."""
    settled = timezone.now() - RELEASE_GRACE
    keys = ReleasedBytes.objects.filter(released_at__lt=settled).order_by("pk").values_list("storage_key", flat=True)
    for key in list(keys[:limit]):
        _discard_released(key)


def count_files(project_id: int, limit: int) -> int:
    """Return how many files stand in a project, counted up to ``limit``."""
    return File.objects.filter(project_id=project_id)[:limit].count()


def purge_files(project_id: int, limit: int) -> int:
    """Delete at most ``limit`` files of a project with their bytes, and return how many were found.

    One on which a document stands is left for it to take along.
    """
    with transaction.atomic():
        files = File.objects.filter(project_id=project_id, document=None).order_by("pk")
        files = files.select_for_update(of=("self",))
        rows = list(files.values_list("pk", "storage_key")[:limit])
        for _, key in rows:
            release_bytes(key)
        File.objects.filter(pk__in=[pk for pk, _ in rows]).delete()
    return len(rows)


def delete_file(file: File, *, access: Access | None = None) -> None:
    """Delete the row and, once that is committed, the bytes. ``access`` as ``update_file``.

    Raises ``Conflict`` while a document stands on it, ``NotFound``, ``Forbidden`` and ``ServiceUnavailable``.
    """
    try:
        with short_transaction():
            locked = _locked(file, access)
            record_deleted_file(locked)
            locked.delete()
            release_bytes(locked.storage_key)
    except (ProtectedError, IntegrityError):  # the latter for a document that was made in this moment
        raise Conflict("A document stands on this file: delete it first.", code="FILE_HAS_DEPENDENTS") from None


def record_deleted_file(file: File) -> None:
    """Write in the audit trail that a file goes."""
    before = {name: getattr(file, name) for name in ("filename", "path", "content_type", "size", "metadata", "tags")}
    record("file", file.public_id, project_id=file.project_id, before=before)
