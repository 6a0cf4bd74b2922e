"""The bytes of files, in a local folder or in S3. Never in the database."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File as DjangoFile
from django.core.files.storage import default_storage

from soat.core.errors import ServiceUnavailable

logger = logging.getLogger(__name__)
_FAILURES = (OSError, BotoCoreError, ClientError)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except _FAILURES as error:
        logger.exception("The file storage could not %s", what)
        raise ServiceUnavailable("The file storage does not answer; try again later.", retry_after=5) from error


def save_bytes(key: str, source: IO[bytes]) -> None:
    """Store what ``source`` holds under ``key``. Raises ``ServiceUnavailable``; nothing is left behind then."""
    try:
        with _translated("save a file"):
            stored = default_storage.save(key, DjangoFile(source))
    except ServiceUnavailable:
        discard_bytes(key)
        raise
    if stored != key:
        discard_bytes(stored)
        raise ServiceUnavailable("The storage key is taken; try again.")


def open_bytes(key: str) -> IO[bytes]:
    """Open the bytes under ``key`` for reading. Raises ``FileNotFoundError`` or ``ServiceUnavailable``."""
    try:
        with _translated("open a file"):
            handle: IO[bytes] = default_storage.open(key, "rb")
            # S3 opens lazily: ask for the size now, so that a missing object is known here.
            _ = cast("Any", handle).size
            return handle
    except ServiceUnavailable as error:
        cause = error.__cause__
        if isinstance(cause, ClientError) and cause.response.get("Error", {}).get("Code") in {"404", "NoSuchKey"}:
            raise FileNotFoundError(key) from error
        raise


def discard_bytes(key: str) -> None:
    """Delete the bytes under ``key`` if they are there; a storage that fails is logged, never raised."""
    try:
        default_storage.delete(key)
    except _FAILURES:
        logger.exception("Bytes without a row stay behind in the file storage: %s", key)
