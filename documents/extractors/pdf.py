"""PDF text: pdfium reads, and pdfminer reads again what pdfium is known to read badly."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from pypdfium2 import raw as pdfium_c

from documents.extractors.registry import ExtractionError, ExtractionFailed
from documents.extractors.second_reader import SecondReader
from soat.engine.chunk import Page

MAX_PAGES = 100_000
SAMPLED_CHARACTERS = 64
UNMAPPED_SHARE = 0.3
TEXT_OBJECT_DEPTH = 5
THIN = 0.01


@dataclass(frozen=True, slots=True)
class _Reading:
    """What pdfium says of a page; ``vertical``: it passed over lines that run down the page."""

    text: str
    vertical: bool = False
    unmapped: bool = False

    @property
    def is_doubtful(self) -> bool:
        return self.vertical or self.unmapped or not self.text.strip()


def count_pages(path: Path) -> int:
    """Return the number of pages of the file. Raises ``ExtractionFailed``."""
    with closing(_opened(path)) as document:
        count = len(document)
    if count > MAX_PAGES:
        raise ExtractionFailed(ExtractionError.LIMIT_EXCEEDED, f"The PDF has more than {MAX_PAGES} pages.")
    return count


def read_pdf(path: Path) -> Iterator[Page]:
    """Yield every page in order, numbered from 1, also the ones without text. Raises ``ExtractionFailed``."""
    with closing(_opened(path)) as document, closing(SecondReader(path)) as second:
        for index in range(len(document)):
            reading = _read(document, index)
            text = reading.text
            if reading.is_doubtful:
                other = second.read(index, vertical=reading.vertical)
                text = text if _agree(text, other) else other
            yield Page(index + 1, text)


def _opened(path: Path) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium_c.FPDF_ERR_PASSWORD:
            raise ExtractionFailed(ExtractionError.ENCRYPTED, "The PDF needs a password.") from None
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"The PDF cannot be read: {error}") from None


def _read(document: pypdfium2.PdfDocument, index: int) -> _Reading:
    try:
        with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
            return _Reading(
                text=_text(text_page),
                vertical=_passes_over_vertical_lines(page, text_page),
                unmapped=_is_unmapped(text_page),
            )
    except pypdfium2.PdfiumError:
        return _Reading("")


def _text(text_page: pypdfium2.PdfTextPage) -> str:
    # The whole range and not the page's box: on a rotated page the box cuts text off and loses line ends.
    text: str = text_page.get_text_range()
    # pdfium ends lines with CR LF and marks a hyphen at the end of a line.
    return text.replace("\r\n", "\n").replace("\ufffe", "-").replace("\x02", "-")


def _passes_over_vertical_lines(page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage) -> bool:
    """Tell whether a text object has height, no width and no text: so pdfium leaves out vertical writing."""
    for item in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_TEXT], max_depth=TEXT_OBJECT_DEPTH):
        left, bottom, right, top = item.get_bounds()
        is_thin = right - left < THIN < top - bottom
        # The length of an empty text is that of its end mark: one unit of two bytes.
        if is_thin and pdfium_c.FPDFTextObj_GetText(item.raw, text_page.raw, None, 0) <= 2:  # noqa: PLR2004
            return True
    return False


def _is_unmapped(text_page: pypdfium2.PdfTextPage) -> bool:
    """Tell whether pdfium had to guess what the glyphs of this page mean."""
    count = text_page.count_chars()
    sample = range(0, count, max(1, count // SAMPLED_CHARACTERS))
    guessed = [place for place in sample if pdfium_c.FPDFText_HasUnicodeMapError(text_page.raw, place) == 1]
    return len(guessed) > UNMAPPED_SHARE * len(sample)


def _agree(text: str, other: str) -> bool:
    """Tell whether ``text`` holds most of the words of ``other``; it is then the better one: rows stay together."""
    words = set(other.split())
    return 2 * len(words & set(text.split())) >= len(words)
