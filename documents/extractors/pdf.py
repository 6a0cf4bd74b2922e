"""PDF text: pdfium reads, pdfminer reads again what pdfium finds empty."""

from collections.abc import Iterator
from pathlib import Path

import pypdfium2
from pdfminer.high_level import extract_text
from pdfminer.pdfexceptions import PDFException
from pypdfium2 import raw as pdfium_c

from documents.extractors.registry import ExtractionError, ExtractionFailed
from soat.engine.chunk import Page


def count_pages(path: Path) -> int:
    """Return the number of pages of the file. Raises ``ExtractionFailed``."""
    document = _opened(path)
    try:
        return len(document)
    finally:
        document.close()


def read_pdf(path: Path) -> Iterator[Page]:
    """Yield every page in order, numbered from 1, also the ones without text. Raises ``ExtractionFailed``."""
    document = _opened(path)
    try:
        for index in range(len(document)):
            text = _pdfium_text(document, index)
            if not text.strip():
                text = _pdfminer_text(path, index)
            yield Page(index + 1, text)
    finally:
        document.close()


def _opened(path: Path) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium_c.FPDF_ERR_PASSWORD:
            raise ExtractionFailed(ExtractionError.ENCRYPTED, "The PDF needs a password.") from None
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"The PDF cannot be read: {error}") from None


def _pdfium_text(document: pypdfium2.PdfDocument, index: int) -> str:
    try:
        page = document[index]
        text_page = page.get_textpage()
        # pdfium ends lines with CR LF and marks a hyphen at the end of a line with U+FFFE.
        text: str = text_page.get_text_bounded().replace("\r\n", "\n").replace("\ufffe", "-")
        text_page.close()
        page.close()
    except pypdfium2.PdfiumError:
        return ""
    return text


def _pdfminer_text(path: Path, index: int) -> str:
    try:
        return extract_text(path, page_numbers=[index]).rstrip("\f")
    except (PDFException, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        # pdfminer has no closed set of errors for broken files; a page that both cannot read is blank.
        return ""
