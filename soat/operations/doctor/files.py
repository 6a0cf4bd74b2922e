"""The storage of files: can it be written, read and deleted, and is there room."""

import io
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage

from soat.operations.doctor.findings import Finding, fine, wrong

_FAILURES = (OSError, BotoCoreError, ClientError)


def check_files() -> Iterator[Finding]:
    """Write a small file, read it back, delete it; look at the free space of a local folder."""
    key, content = f".doctor-{secrets.token_hex(8)}", secrets.token_bytes(64)
    step = "write a file to"
    try:
        key = default_storage.save(key, File(io.BytesIO(content)))
        step = "read a file from"
        with default_storage.open(key) as stored:
            is_same = stored.read() == content
        step = "delete a file from"
        default_storage.delete(key)
        is_gone = not default_storage.exists(key)
    except _FAILURES as error:
        yield _broken(f"The server cannot {step} {_place()}: {error}.")
        return
    if not is_same:
        yield _broken(f"What was written to {_place()} is read back as something else.")
    elif not is_gone:
        yield _broken(f"What was deleted from {_place()} is still there.")
    else:
        yield fine("files", f"{_place()} can be written, read and deleted")
    if settings.FILES_STORAGE_PROVIDER == "local":
        yield from _check_space(settings.FILES_STORAGE_DIR)


def _check_space(folder: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free
    if free < settings.MAX_UPLOAD_BYTES:
        yield wrong(
            "disk",
            f"{_size(free)} are free in {folder}, less than the largest upload ({_size(settings.MAX_UPLOAD_BYTES)}).",
            why="An upload fails halfway, and so may whatever else writes to that disk.",
            mend="make room, move FILES_STORAGE_DIR to a larger disk, or lower MAX_UPLOAD_BYTES.",
        )
    else:
        yield fine("disk", f"{_size(free)} free")


def _place() -> str:
    if settings.FILES_STORAGE_PROVIDER == "local":
        return f"the folder {settings.FILES_STORAGE_DIR}"
    return f"the bucket {settings.FILES_S3_BUCKET}"


def _broken(what: str) -> Finding:
    mend = "give the server's user this folder, or set FILES_STORAGE_DIR to one that it has."
    if settings.FILES_STORAGE_PROVIDER == "s3":
        mend = (
            "check FILES_S3_BUCKET, FILES_S3_REGION, FILES_S3_ENDPOINT_URL, the keys and what they are allowed to do."
        )
    return wrong("files", what, why="Uploads are refused, and workers cannot read what was uploaded.", mend=mend)


def _size(number: int) -> str:
    return f"{number / 1024**3:.1f} GiB"
