"""Small PDFs, made where they are needed."""

from collections.abc import Sequence
from pathlib import Path

from fpdf import FPDF
from fpdf.enums import AccessPermission

HANDBOOK = Path(__file__).resolve().parents[2] / "docs" / "sample" / "handbook.pdf"


def pdf(
    pages: Sequence[str], *, owner: str | None = None, user: str | None = None, forbid_copying: bool = False
) -> bytes:
    """Return a PDF with one text a page; an empty text makes a blank page.

    ``owner`` and ``user`` are passwords; with ``forbid_copying`` the file asks readers not to extract text.
    """
    document = FPDF()
    document.set_font("helvetica", size=12)
    if owner is not None:
        permissions = AccessPermission.none() if forbid_copying else AccessPermission.all()
        document.set_encryption(owner_password=owner, user_password=user, permissions=permissions)
    for text in pages:
        document.add_page()
        if text:
            document.multi_cell(0, 8, text)
    return bytes(document.output())


def sentence(number: int) -> str:
    """Return a sentence that only the page of this number holds."""
    return f"Page number {number} speaks of topic {number * 7919 % 10_007} and of nothing else."


def numbered(count: int) -> bytes:
    """Return a PDF of ``count`` pages, each with its own sentence."""
    return pdf([sentence(number) for number in range(1, count + 1)])
