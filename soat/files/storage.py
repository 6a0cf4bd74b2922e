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
from soat.files.ranges import ByteRange

logger = logging.getLogger(__name__)
_FAILURES = (OSError, BotoCoreError, ClientError, RetriesExceededError, S3DownloadFailedError)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        logger.exception("The file storage could not %s", what)
        raise ServiceUnavailable("The file storage does not answer; try again later.", retry_after=5) from error


def _has_bucket() -> bool:
    """Tell a missing object from a missing bucket, which S3 answers alike. Raises ``ClientError``."""
    bucket: Any = getattr(default_storage, "bucket", None)
    if bucket is not None:
        bucket.meta.client.head_bucket(Bucket=bucket.name)
    return True


@contextmanager
def _reading(key: str) -> Iterator[None]:
    """Tell bytes that are gone from a storage that fails."""
    with _translated("open a file"):
        try:
            yield
        except FileNotFoundError:
            is_missing = _has_bucket()
        except ClientError as error:
            is_missing = error.response.get("Error", {}).get("Code") in {"404", "NoSuchKey"} and _has_bucket()
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


class Section:
    """A part of a stream, to be read once from its start."""

    def __init__(self, source: IO[bytes], length: int) -> None:
        self._source = source
        self._left = length

    def read(self, size: int = -1) -> bytes:
        """Read at most ``size`` bytes of what is left."""
        block = self._source.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(block)
        return block

    def close(self) -> None:
        """Close the stream."""
        self._source.close()


class StoredBytes:
    """Bytes that are there: their ``size``, and streams of all or some of them."""

    def __init__(self, key: str) -> None:
        """Look for the bytes under ``key``. Raises ``FileNotFoundError`` or ``ServiceUnavailable``."""
        self._key = key
        with _reading(key):
            self._handle: Any = default_storage.open(key, "rb")
            self.size: int = self._handle.size

    def stream(self, part: ByteRange | None = None) -> Any:
        """Return a stream, to be read once from its start. Raises like the constructor."""
        with _reading(self._key):
            if hasattr(self._handle, "obj"):
                # The backend's file would be fetched as a whole before its first byte is sent on.
                wanted = {"Range": f"bytes={part.first}-{part.last}"} if part else {}
                return self._handle.obj.get(**wanted)["Body"]
            if part is None:
                return self._handle
            self._handle.seek(part.first)
            return Section(self._handle, part.length)

    def close(self) -> None:
        """Let go of what was opened without being streamed."""
        self._handle.close()


def discard_bytes(key: str) -> bool:
    """Delete the bytes under ``key`` if they are there, and say whether they are gone; a failure is logged only."""
    try:
        default_storage.delete(key)
    except _FAILURES:
        logger.exception("Bytes without a row stay behind in the file storage: %s", key)
        return False
    return True
