"""The process that reads a PDF: ``python -m documents.extractors.child FILE``.

A parser that crashes, hangs or eats memory takes this process down and no worker. Its output is
one JSON object a line: ``{"total": n}``, ``{"page": n, "text": …}`` for each page, then
``{"done": true}``, or ``{"error": code, "detail": …}``.
"""

import json
import logging
import resource
import sys
from pathlib import Path
from typing import Any

from documents.extractors.pdf import count_pages, read_pdf
from documents.extractors.registry import ExtractionFailed

MEMORY_BYTES = 2 * 1024**3
CPU_SECONDS = 3_600


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def main(path: Path) -> None:
    """Read ``path`` and write its pages to the standard output."""
    logging.disable(logging.CRITICAL)
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
    main(Path(sys.argv[1]))
