"""Turn a stored file into pages."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from documents.extractors.registry import ExtractionError, ExtractionFailed, Reader, parse_media_type, reader_for
from documents.extractors.text import read_text
from soat.engine.chunk import Page
from soat.engine.text import is_blank, strip_nul

CHILD = (sys.executable, "-m", "documents.extractors.child")
PAGE_TIMEOUT_SECONDS = 120.0
POLL_SECONDS = 1.0
LAST_WORDS_SECONDS = 5.0
MAX_MESSAGE_BYTES = 256 * 1024**2
_ROOT = Path(__file__).resolve().parent.parent.parent


def extract_pages(
    path: Path, content_type: str, *, keep_going: Callable[[], None], on_total: Callable[[int], None]
) -> Generator[Page]:
    """Yield the pages that hold text, with their numbers in the file.

    ``keep_going`` is called about once a second while the reader works; what it raises ends the
    reading. ``on_total`` is told how many pages the file has, blank ones too, before the first
    comes. Raises ``ExtractionFailed``, also when no page holds any text.
    """
    found = False
    for page in _read(path, content_type, keep_going, on_total):
        text = strip_nul(page.text)
        if not is_blank(text):
            found = True
            yield Page(page.number, text)
    if not found:
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, "There is no text in the file.")


def _read(
    path: Path, content_type: str, keep_going: Callable[[], None], on_total: Callable[[int], None]
) -> Iterator[Page]:
    reader = reader_for(content_type)
    if reader is Reader.TEXT:
        for page in read_text(path, parse_media_type(content_type).charset):
            if not is_blank(page.text):
                on_total(1)
            yield page
    elif reader is Reader.PDF:
        yield from _read_in_child(path, keep_going, on_total)
    else:
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"There is no reader for {content_type}.")


def _read_in_child(path: Path, keep_going: Callable[[], None], on_total: Callable[[int], None]) -> Iterator[Page]:
    with subprocess.Popen(  # noqa: S603  (our own module and a path that we made)
        [*CHILD, str(path), str(os.getpid())],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        cwd=_ROOT,
    ) as child:
        try:
            for message in _messages(child, keep_going):
                match message:
                    case {"error": error, "detail": detail}:
                        raise ExtractionFailed(ExtractionError(error), str(detail))
                    case {"total": int(total)}:
                        on_total(total)
                    case {"page": int(number), "text": str(text)}:
                        yield Page(number, text)
                    case _:
                        raise ExtractionFailed(ExtractionError.PARSE_FAILED, "The PDF reader spoke out of turn.")
        finally:
            child.kill()


def _messages(child: "subprocess.Popen[bytes]", keep_going: Callable[[], None]) -> Iterator[dict[str, Any]]:
    """Yield the child's messages up to ``done``. Raises ``ExtractionFailed`` when it dies, babbles or falls silent."""
    assert child.stdout is not None  # noqa: S101  (Popen was told to open it)
    descriptor = child.stdout.fileno()
    pending = bytearray()
    deadline = time.monotonic() + PAGE_TIMEOUT_SECONDS
    while True:
        keep_going()
        if not select.select([descriptor], [], [], POLL_SECONDS)[0]:
            if time.monotonic() > deadline:
                raise ExtractionFailed(ExtractionError.LIMIT_EXCEEDED, "A page takes too long to read.")
            continue
        block = os.read(descriptor, 1 << 20)
        if not block:
            raise _death(child)
        deadline = time.monotonic() + PAGE_TIMEOUT_SECONDS
        pending += block
        if len(pending) > MAX_MESSAGE_BYTES:
            raise ExtractionFailed(ExtractionError.LIMIT_EXCEEDED, "A page holds too much text.")
        *lines, rest = pending.split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            message = _parsed(bytes(line))
            if message.get("done"):
                return
            yield message


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, "The PDF reader spoke out of turn.")
    return message


def _death(child: "subprocess.Popen[bytes]") -> ExtractionFailed:
    """Return why a child that says nothing more is dead; one that is not is killed."""
    try:
        status = child.wait(LAST_WORDS_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        status = child.wait()
    if status == -signal.SIGXCPU:
        return ExtractionFailed(ExtractionError.LIMIT_EXCEEDED, "The PDF takes too long to read.")
    return ExtractionFailed(ExtractionError.PARSE_FAILED, f"The PDF reader ended with code {status}.")
