"""pdfminer: slower than pdfium, and right about some pages on which pdfium is wrong."""

import re
import signal
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from types import FrameType

from pdfminer.converter import TextConverter
from pdfminer.layout import LAParams
from pdfminer.pdfdocument import PDFDocument
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser
from pdfminer.psexceptions import PSException

SECONDS_PER_PAGE = 30.0
_UNKNOWN_GLYPH = re.compile(r"\(cid:\d+\)")
# pdfminer has no closed set of errors for broken files; a page that it cannot read is blank.
_FAULTS = (
    PSException,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


class SecondReader:
    """A PDF that is opened once, when the first page of it is asked for."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._resources = PDFResourceManager()
        self._pages: list[PDFPage] | None = None

    def read(self, index: int, *, vertical: bool) -> str:
        """Return the text of a page, empty where it cannot be read. ``vertical`` looks for lines that run down."""
        target = StringIO()
        try:
            with _alarm(SECONDS_PER_PAGE):
                device = TextConverter(self._resources, target, laparams=LAParams(detect_vertical=vertical))
                PDFPageInterpreter(self._resources, device).process_page(self._page(index))
        except _FAULTS:
            return ""
        return _UNKNOWN_GLYPH.sub("", target.getvalue()).rstrip("\f")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _page(self, index: int) -> PDFPage:
        if self._pages is None:
            self._pages = []
            self._pages.extend(PDFPage.create_pages(PDFDocument(PDFParser(self._file))))
        return self._pages[index]


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise ``TimeoutError`` in the block when it takes too long, again each second in case it is swallowed.

    For the main thread of a process of its own: the alarm is the process's.
    """

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("pdfminer takes too long")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
