"""Turn a stored file into pages."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from documents.extractors.registry import ExtractionError, ExtractionFailed, Reader, parse_media_type, reader_for
from documents.extractors.text import read_text
from soat.engine.chunk import Page
from soat.engine.text import strip_nul

PAGE_TIMEOUT_SECONDS = 120
POLL_SECONDS = 1.0
_ROOT = Path(__file__).resolve().parent.parent.parent


def extract_pages(path: Path, content_type: str, *, keep_going: Callable[[], None]) -> Iterator[Page]:
    """Yield the pages that hold text, with their numbers in the file.

    ``keep_going`` is called about once a second while the reader works; what it raises ends the
    reading. Raises ``ExtractionFailed``, also when no page holds any text.
    """
    found = False
    for page in _read(path, content_type, keep_going):
        text = strip_nul(page.text)
        if text.strip():
            found = True
            yield Page(page.number, text)
    if not found:
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, "There is no text in the file.")


def _read(path: Path, content_type: str, keep_going: Callable[[], None]) -> Iterator[Page]:
    reader = reader_for(content_type)
    if reader is Reader.TEXT:
        return read_text(path, parse_media_type(content_type).charset)
    if reader is Reader.PDF:
        return _read_in_child(path, keep_going)
    raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"There is no reader for {content_type}.")


def _read_in_child(path: Path, keep_going: Callable[[], None]) -> Iterator[Page]:
    command = [sys.executable, "-m", "documents.extractors.child", str(path)]
    with subprocess.Popen(  # noqa: S603  (our own module and a path that we made)
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=_ROOT
    ) as child:
        try:
            for message in _messages(child, keep_going):
                if "error" in message:
                    raise ExtractionFailed(ExtractionError(message["error"]), message["detail"])
                if "page" in message:
                    yield Page(message["page"], message["text"])
        finally:
            child.kill()


def _messages(child: "subprocess.Popen[bytes]", keep_going: Callable[[], None]) -> Iterator[dict[str, Any]]:
    """Yield the child's messages up to ``done``. Raises ``ExtractionFailed`` when it dies or falls silent."""
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
            raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"The PDF reader ended with code {child.wait()}.")
        deadline = time.monotonic() + PAGE_TIMEOUT_SECONDS
        pending += block
        *lines, rest = pending.split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            message = json.loads(line)
            if message.get("done"):
                return
            yield message
