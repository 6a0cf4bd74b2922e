"""Taking files in and giving them up: the row and the bytes go together."""

import mimetypes
import secrets
from dataclasses import dataclass, field
from typing import IO

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from soat.core.db import violated_constraint
from soat.core.errors import Conflict
from soat.files.models import File
from soat.files.storage import discard_bytes, save_bytes
from soat.tenancy.models import Project


@dataclass(frozen=True, slots=True)
class NewFile:
    """What is known of a file before it is stored. ``path`` None: it can be found by its id only."""

    prefix: str
    filename: str
    path: str | None
    content_type: str
    metadata: str | None = None
    tags: dict[str, str] = field(default_factory=dict)


def guess_content_type(filename: str, declared: str | None) -> str:
    """Return the declared type, else the one that the name's ending means, else ``application/octet-stream``."""
    guessed, packed = mimetypes.guess_type(filename)
    if declared and declared != "application/octet-stream":
        return declared
    if filename.lower().endswith((".md", ".markdown")):
        return "text/markdown"
    return (None if packed else guessed) or declared or "application/octet-stream"


def create_file(*, project: Project, new: NewFile, source: IO[bytes], size: int) -> File:
    """Store the bytes, then the row; a failure leaves neither. Raises ``Conflict`` for a path that is taken."""
    refuse_taken_path(project=project, path=new.path)
    key = f"{project.public_id}/{secrets.token_hex(16)}"
    save_bytes(key, source)
    try:
        with transaction.atomic():
            return insert_file_row(project=project, new=new, size=size, storage_key=key)
    except BaseException:
        discard_bytes(key)
        raise


def insert_file_row(*, project: Project, new: NewFile, size: int, storage_key: str) -> File:
    """Write the row of a file whose bytes are stored. Raises ``Conflict`` for a path that is taken."""
    try:
        with transaction.atomic():
            return File.objects.create(
                project=project,
                prefix=new.prefix,
                filename=new.filename,
                path=new.path,
                content_type=new.content_type,
                size=size,
                metadata=new.metadata,
                tags=new.tags,
                storage_key=storage_key,
            )
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


def delete_file(file: File) -> None:
    """Delete the row and, once that is committed, the bytes. Raises ``Conflict`` while a document stands on it."""
    try:
        with transaction.atomic():
            file.delete()
            transaction.on_commit(lambda: discard_bytes(file.storage_key))
    except (ProtectedError, IntegrityError):  # the latter for a document that was made in this moment
        raise Conflict("A document stands on this file: delete it first.", code="FILE_HAS_DEPENDENTS") from None
