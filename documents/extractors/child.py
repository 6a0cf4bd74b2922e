"""The process that reads a PDF: ``python -m documents.extractors.child FILE PARENT``.

A parser that crashes, hangs or eats memory takes this process down and no worker. Its output is
one JSON object a line: ``{"total": n}``, ``{"page": n, "text": …}`` for each page, then
``{"done": true}``, or ``{"error": code, "detail": …}``.
"""

import json
import logging
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

from documents.extractors.pdf import count_pages, read_pdf
from documents.extractors.registry import ExtractionFailed

MEMORY_BYTES = 2 * 1024**3
CPU_SECONDS = 3_600
WATCH_SECONDS = 1.0


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _end_with(parent: int) -> None:
    """End this process once the worker that started it is gone, whatever the parser is stuck in."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def main(path: Path, parent: int) -> None:
    """Read ``path`` and write its pages to the standard output, as long as the process ``parent`` lives."""
    logging.disable(logging.CRITICAL)
    _end_with(parent)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_CPU, CPU_SECONDS)
    try:
        _say(total=count_pages(path))
        for page in read_pdf(path):
            _say(page=page.number, text=page.text)
        _say(done=True)
    except ExtractionFailed as failure:
        _say(error=failure.error, detail=failure.detail)
    except MemoryError:
        _say(error="FILE_LIMIT_EXCEEDED", detail="Reading the PDF takes more memory than is allowed.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
