"""The bytes of files, in a local folder or in S3. Never in the database."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File as DjangoFile
from django.core.files.storage import default_storage
from s3transfer.exceptions import RetriesExceededError, S3DownloadFailedError  # type: ignore[import-untyped]

from soat.core.errors import ServiceUnavailable

logger = logging.getLogger(__name__)
_FAILURES = (OSError, BotoCoreError, ClientError, RetriesExceededError, S3DownloadFailedError)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        logger.exception("The file storage could not %s", what)
        raise ServiceUnavailable("The file storage does not answer; try again later.", retry_after=5) from error


@contextmanager
def _reading(key: str) -> Iterator[None]:
    """Tell bytes that are gone from a storage that fails."""
    with _translated("open a file"):
        try:
            yield
        except FileNotFoundError:
            is_missing = True
        except ClientError as error:
            is_missing = error.response.get("Error", {}).get("Code") in {"404", "NoSuchKey"}
            if not is_missing:
                raise
        else:
            is_missing = False
    if is_missing:
        raise FileNotFoundError(key)


def save_bytes(key: str, source: IO[bytes]) -> None:
    """Store what ``source`` holds under ``key``. Raises ``ServiceUnavailable``; nothing is left behind then."""
    try:
        with _translated("save a file"):
            stored = default_storage.save(key, DjangoFile(source))
    except BaseException:
        discard_bytes(key)
        raise
    if stored != key:
        discard_bytes(stored)
        raise ServiceUnavailable("The storage key is taken; try again.")


def open_bytes(key: str) -> IO[bytes]:
    """Open the bytes under ``key`` for reading in any order; those of S3 are fetched now, to a temporary file.

    Raises ``FileNotFoundError`` or ``ServiceUnavailable``.
    """
    with _reading(key):
        handle: Any = default_storage.open(key, "rb")
        handle.open()
    opened: IO[bytes] = handle
    return opened


def stream_bytes(key: str) -> tuple[IO[bytes], int]:
    """Return the bytes under ``key`` as a stream, to be read once from its start, and their number.

    Raises ``FileNotFoundError`` or ``ServiceUnavailable``.
    """
    with _reading(key):
        handle: Any = default_storage.open(key, "rb")
        if not hasattr(handle, "obj"):
            return handle, handle.size
        # The backend's file would be fetched as a whole before its first byte is sent on.
        answer = handle.obj.get()
    return answer["Body"], answer["ContentLength"]


def discard_bytes(key: str) -> bool:
    """Delete the bytes under ``key`` if they are there, and say whether they are gone; a failure is logged only."""
    try:
        default_storage.delete(key)
    except _FAILURES:
        logger.exception("Bytes without a row stay behind in the file storage: %s", key)
        return False
    return True
