"""Reading PDFs."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from pdfminer.pdfdocument import PDFDocument
from pdfminer.pdfinterp import PDFPageInterpreter
from pdfminer.pdfpage import PDFPage

from documents.extractors import pdf as pdf_reader
from documents.extractors import second_reader
from documents.extractors.pdf import count_pages, read_pdf
from documents.extractors.registry import ExtractionFailed
from documents.extractors.run import extract_pages
from documents.extractors.second_reader import SecondReader
from soat.engine.chunk import Page
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.pdfs import HANDBOOK, numbered, pdf, sentence
from tests.documents.steps import PDF, current, ingested, status


def extracted(path: Path) -> list[Page]:
    """Return what a worker gets of the file."""
    return list(extract_pages(path, PDF, keep_going=lambda: None, on_total=lambda total: None))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.pdf"


def test_the_handbook() -> None:
    pages = extracted(HANDBOOK)
    assert [page.number for page in pages] == list(range(1, 11))
    assert all(len(page.text) > 500 for page in pages)
    assert not any("\r" in page.text or "\ufffe" in page.text or "\x02" in page.text for page in pages)


def test_every_page_has_its_own_sentence(file: Path) -> None:
    file.write_bytes(numbered(30))
    assert [(page.number, page.text.replace("\n", " ").strip()) for page in extracted(file)] == [
        (number, sentence(number)) for number in range(1, 31)
    ]
    assert count_pages(file) == 30


def test_the_total_is_said_first_and_counts_blank_pages(file: Path) -> None:
    file.write_bytes(pdf(["", "Two.", "", "Four.", ""]))
    said: list[int] = []
    pages = extract_pages(file, PDF, keep_going=lambda: None, on_total=said.append)
    assert next(pages).number == 2
    assert said == [5]
    assert [page.number for page in pages] == [4]


def test_lines_and_hyphens(file: Path) -> None:
    file.write_bytes(pdf(["A line that ends with a hyph-\nen, and another\nlast line."]))
    (page,) = extracted(file)
    assert page.text == "A line that ends with a hyph-en, and another\nlast line."


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotated_pages_keep_all_their_lines(file: Path, degrees: int) -> None:
    lines = [f"Line {number} of the wide table." for number in range(40)]
    with pypdfium2.PdfDocument(pdf(["\n".join(lines[:30])])) as document:
        document[0].set_rotation(degrees)
        document.save(file)
    (page,) = extracted(file)
    assert sorted(page.text.split("\n")) == sorted(lines[:30])


def test_a_password_is_needed(cast: Cast) -> None:
    record = ingested(cast.a, pdf(["Secret."], owner="owner", user="user"), "p.pdf", PDF)
    assert record["status"] == "failed"
    assert status(cast.a, record["id"])["error"] == "FILE_ENCRYPTED"
    invariants.check()


@pytest.mark.parametrize("forbid_copying", [False, True])
def test_an_empty_user_password_is_none(cast: Cast, forbid_copying: bool) -> None:
    raw = pdf(["Open to all."], owner="owner", user="", forbid_copying=forbid_copying)
    record = ingested(cast.a, raw, "p.pdf", PDF)
    assert (record["status"], record["content"].strip()) == ("ready", "Open to all.")


_NOISE = random.Random(7).randbytes(4_096)


def _containing_itself(count: int) -> bytes:
    return (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[2 0 R]/Count %d>>endobj\ntrailer<</Root 1 0 R>>\n%%%%EOF"
    ) % count


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        pytest.param(raw, code, id=name)
        for name, raw, code in (
            ("zero bytes", b"", "FILE_PARSE_FAILED"),
            ("random bytes", _NOISE, "FILE_PARSE_FAILED"),
            ("text", b"This is no PDF at all.", "FILE_PARSE_FAILED"),
            ("a header alone", b"%PDF-1.7\n", "FILE_PARSE_FAILED"),
            ("a header and noise", b"%PDF-1.7\n" + _NOISE, "FILE_PARSE_FAILED"),
            ("no pages", b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<</Root 1 0 R>>\n%%EOF", "FILE_PARSE_FAILED"),
            ("pages that contain themselves", _containing_itself(1_000), "FILE_PARSE_FAILED"),
            ("pages without end", _containing_itself(1_000_000), "FILE_LIMIT_EXCEEDED"),
            ("pages without text", pdf(["", "", ""]), "FILE_PARSE_FAILED"),
        )
    ],
)
def test_broken_files_fail(cast: Cast, raw: bytes, code: str) -> None:
    record = ingested(cast.a, raw, "p.pdf", PDF)
    assert record["status"] == "failed"
    assert status(cast.a, record["id"])["error"] == code
    assert current(record["id"]).error_detail
    invariants.check()


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files_end_in_pages_or_in_a_failure(file: Path, seed: int) -> None:
    chance = random.Random(seed)
    raw = bytearray(HANDBOOK.read_bytes())
    for _ in range(200):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    file.write_bytes(raw[: chance.randrange(len(raw) // 2, len(raw))])
    try:
        assert extracted(file)
    except ExtractionFailed as failure:
        assert failure.error in {"FILE_PARSE_FAILED", "FILE_ENCRYPTED", "FILE_LIMIT_EXCEEDED"}  # noqa: PT017


def test_the_second_reader_opens_the_file_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    original = PDFPage.create_pages

    def create_pages(document: PDFDocument) -> Iterator[PDFPage]:
        opened.append(1)
        return original(document)

    monkeypatch.setattr(PDFPage, "create_pages", create_pages)
    file.write_bytes(pdf([""] * 20 + ["Text."]))
    assert [page.text.strip() for page in read_pdf(file)] == [""] * 20 + ["Text."]
    assert opened == [1]


def test_pages_that_pdfium_reads_well_need_no_second_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: SecondReader, index: int, *, vertical: bool) -> str:
        raise AssertionError("pdfminer was asked")

    monkeypatch.setattr(SecondReader, "read", refuse)
    assert len(list(read_pdf(HANDBOOK))) == 10


@pytest.mark.parametrize(
    ("fast", "second", "chosen"),
    [
        ("", "Only pdfminer reads it.", "Only pdfminer reads it."),
        ("  \n", "", "  \n"),
        ("3HQ Č SURVWĜHGN", "Peněžní prostředky", "Peněžní prostředky"),
        ("total 12 rows stay", "total\n\n12\n\nrows\n\nstay", "total 12 rows stay"),
        ("one", "one two three", "one two three"),
        ("guessed", "", "guessed"),
    ],
)
def test_which_reading_wins(file: Path, monkeypatch: pytest.MonkeyPatch, fast: str, second: str, chosen: str) -> None:
    file.write_bytes(pdf(["x"]))
    reading = pdf_reader._Reading(fast, unmapped=True)
    monkeypatch.setattr(pdf_reader, "_read", lambda document, index: reading)
    monkeypatch.setattr(SecondReader, "read", lambda self, index, vertical: second)
    assert [page.text for page in read_pdf(file)] == [chosen]


def test_pdfminer_is_given_up_in_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(pdf(["", "Text."]))
    swallowed = []

    def loop(self: PDFPageInterpreter, page: PDFPage) -> None:
        while True:
            try:
                while True:
                    pass
            except TimeoutError:
                swallowed.append(1)
                if len(swallowed) == 2:
                    raise

    monkeypatch.setattr(PDFPageInterpreter, "process_page", loop)
    monkeypatch.setattr(second_reader, "SECONDS_PER_PAGE", 0.1)
    started = time.monotonic()
    assert [page.text.strip() for page in read_pdf(file)] == ["", "Text."]
    assert len(swallowed) == 2
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("fault", [ValueError, KeyError, AssertionError, RecursionError, ZeroDivisionError, OSError])
def test_a_page_that_pdfminer_stumbles_over_is_blank(
    file: Path, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    file.write_bytes(pdf(["", "Text."]))

    def stumble(self: PDFPageInterpreter, page: PDFPage) -> None:
        raise fault

    monkeypatch.setattr(PDFPageInterpreter, "process_page", stumble)
    assert [page.text.strip() for page in read_pdf(file)] == ["", "Text."]


def test_unknown_glyphs_are_no_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(pdf([""]))
    monkeypatch.setattr(SecondReader, "_page", lambda self, index: None)
    monkeypatch.setattr(
        PDFPageInterpreter, "process_page", lambda self, page: self.device.outfp.write("(cid:12)(cid:7)\n(cid:1)\f")
    )
    assert [page.text.strip() for page in read_pdf(file)] == [""]
