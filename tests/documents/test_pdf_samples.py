"""Awkward PDFs: the samples of pdfminer.six, outside of this repository."""

# ruff: noqa: RUF001 - texts in many scripts

import os
import time
from pathlib import Path

import pytest

from documents.extractors.registry import ExtractionFailed
from documents.extractors.run import extract_pages
from soat.engine.chunk import Page
from tests.documents.steps import PDF

DATA = os.environ.get("SOAT_EVAL_DATA", "")
SAMPLES = Path(DATA) / "pdf_samples" / "samples"
pytestmark = pytest.mark.skipif(not DATA, reason="SOAT_EVAL_DATA names no folder with the sample PDFs.")

WITHOUT_TEXT = {"simple2.pdf", "contrib/pdf-with-jbig2.pdf", "encryption/encrypted_doc_no_id.pdf"}
LOCKED = {f"encryption/{name}.pdf" for name in ("aes-128", "aes-128-m", "aes-256", "aes-256-m", "aes-256-r6")} | {
    "encryption/rc4-40.pdf",
    "encryption/rc4-128.pdf",
}
TEXT = {
    "simple1.pdf": ("Hello World", "H e l l o W o r l d"),
    "simple3.pdf": ("Hello", "あいうえお"),
    "simple4.pdf": ("Text1\nText2\nText3",),
    "simple5.pdf": ("Heading", "Subheading"),
    "sampleOneByteIdentityEncode.pdf": ("abc",),
    "zen_of_python_corrupted.pdf": (
        "Beautiful is better than ugly.\nExplicit is better than implicit.\nSimple is better than complex.",
        "let’s do more of those!",
    ),
    "jo.pdf": (
        "わたくしといふ現象は\n\n假定された有機交流電燈の\n\nひとつの青い照明です",
        "因果交流電燈の",
        "（あるひは修羅の十億年）",
    ),
    "acroform/AcroForm_TEST.pdf": ("RADIO BUTTON",),
    "contrib/2b.pdf": ("01/14/2016 Transfer 1,406,164.00 1,406,246.50",),
    "contrib/issue-449-horizontal.pdf": ("Horizontal",),
    "contrib/issue-449-vertical.pdf": ("Test\nVertical\nLayout",),
    "contrib/issue-598-cmap-other-fonts.pdf": ("DIAGNOSTIC TOOLS AND SOFTWARE",),
    "contrib/issue-625-identity-cmap.pdf": ("Wirtualna Polska Media Spółka Akcyjna",),
    "contrib/issue-791-non-unicode-cmap.pdf": ("Peněžní prostředky na účtech",),
    "contrib/issue-886-xref-stream-widths.pdf": ("Hello",),
    "contrib/issue-1059-cmap-decode.pdf": ("4 5 6",),
    "contrib/issue-1113-evil-xobjects.pdf": ("Hello world",),
    "contrib/issue-1062-filters.pdf": ("Lenze B.V.",),
    "contrib/pagelabels.pdf": ("First section",),
    "encryption/base.pdf": ("Secret!",),
}


def names() -> list[str]:
    return sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.pdf")) if DATA else ["any"]


def extracted(name: str) -> list[Page]:
    return list(extract_pages(SAMPLES / name, PDF, keep_going=lambda: None, on_total=lambda total: None))


@pytest.mark.parametrize("name", names())
def test_every_file_ends_in_pages_or_in_its_reason(name: str) -> None:
    started = time.monotonic()
    if name in LOCKED | WITHOUT_TEXT:
        with pytest.raises(ExtractionFailed) as failure:
            extracted(name)
        assert failure.value.error == ("FILE_ENCRYPTED" if name in LOCKED else "FILE_PARSE_FAILED")
    else:
        text = "\n".join(page.text for page in extracted(name))
        assert [piece for piece in TEXT[name] if piece not in text] == []
        assert "(cid:" not in text
    assert time.monotonic() - started < 30


def test_vertical_japanese_is_read_whole() -> None:
    (page,) = extracted("jo.pdf")
    assert len("".join(page.text.split())) > 850
