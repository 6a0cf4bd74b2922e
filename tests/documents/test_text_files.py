"""Reading text in any charset."""

# ruff: noqa: RUF001 - texts in many scripts

import codecs
from pathlib import Path

import pytest

from documents.extractors.registry import ExtractionFailed, MediaType, Reader, parse_media_type, reader_for
from documents.extractors.run import extract_pages
from documents.extractors.text import decode_text
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.embedders import FakeEmbedder
from tests.documents.steps import current, ingested, status, texts

GERMAN = "Die Größe der Tür beträgt zwei Meter, so heißt es in der Prüfung.\n"
FRENCH = "Le contrat a été résilié à la demande du client ; une réponse est attendue.\n"
SPANISH = "El contrato se rescindió a petición del cliente. Se espera una respuesta mañana.\n"
SWEDISH = "Avtalet avslutades på begäran av kunden. Svar förväntas före sommaren.\n"
QUOTED = "“Smart quotes” – and the price is 5 €, naïve façade.\n"
JAPANESE = "これは日本語の文章です。請求書は三十日以内に支払われます。\n"
RUSSIAN = "Договор был расторгнут по просьбе клиента, ответ ожидается до лета.\n"
POLISH = "Zażółć gęślą jaźń. Umowa została rozwiązana na prośbę klienta, odpowiedź będzie latem.\n"
GREEK = "Η σύμβαση λύθηκε κατόπιν αιτήματος του πελάτη.\n"
CHINESE = "这是中文文档。发票必须在三十天内支付。\n"


@pytest.mark.parametrize(
    ("raw", "charset", "text"),
    [
        (b"plain", None, "plain"),
        (GERMAN.encode(), None, GERMAN),
        (GERMAN.encode(), "utf-8", GERMAN),
        (codecs.BOM_UTF8 + GERMAN.encode(), None, GERMAN),
        (codecs.BOM_UTF8 + GERMAN.encode(), "latin-1", GERMAN),
        (codecs.BOM_UTF16_LE + GERMAN.encode("utf-16-le"), None, GERMAN),
        (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), None, GERMAN),
        (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), "utf-16", GERMAN),
        (codecs.BOM_UTF16_LE + "😀 smile".encode("utf-16-le"), None, "😀 smile"),
        (codecs.BOM_UTF32_LE + GERMAN.encode("utf-32-le"), None, GERMAN),
        (codecs.BOM_UTF32_BE + GERMAN.encode("utf-32-be"), None, GERMAN),
        (GERMAN.encode("utf-16-le"), "utf-16-le", GERMAN),
        (GERMAN.encode("utf-16-le"), None, GERMAN),
        (JAPANESE.encode("utf-16-le"), None, JAPANESE),
        (GERMAN.encode("latin-1"), "latin-1", GERMAN),
        (GERMAN.encode("latin-1"), "ISO-8859-1", GERMAN),
        (GERMAN.encode("latin-1"), None, GERMAN),
        ("Café\n".encode("latin-1"), None, "Café\n"),
        (FRENCH.encode("latin-1"), None, FRENCH),
        (SPANISH.encode("latin-1"), None, SPANISH),
        (SWEDISH.encode("latin-1"), None, SWEDISH),
        (QUOTED.encode("cp1252"), None, QUOTED),
        (QUOTED.encode("cp1252"), "windows-1252", QUOTED),
        (POLISH.encode("cp1250"), None, POLISH),
        (RUSSIAN.encode("cp1251"), None, RUSSIAN),
        ((RUSSIAN * 20).encode("koi8-r"), None, RUSSIAN * 20),
        (GREEK.encode("cp1253"), None, GREEK),
        (CHINESE.encode("gb18030"), None, CHINESE),
        (JAPANESE.encode("shift_jis"), "shift_jis", JAPANESE),
        (JAPANESE.encode("shift_jis"), "Shift-JIS", JAPANESE),
        (JAPANESE.encode("shift_jis"), None, JAPANESE),
        ((JAPANESE * 40).encode("euc_jp"), None, JAPANESE * 40),
    ],
)
def test_charsets(raw: bytes, charset: str | None, text: str) -> None:
    assert decode_text(raw, charset) == text


@pytest.mark.parametrize("shift", range(4))
def test_a_sample_that_ends_within_a_character_rules_nothing_out(shift: int) -> None:
    text = "a" * shift + JAPANESE * 6_000
    assert len(text.encode("shift_jis")) > 262_144
    assert decode_text(text.encode("shift_jis"), None) == text


@pytest.mark.parametrize(
    ("raw", "charset", "said"),
    [
        (b"text", "klingon", "unknown"),
        (b"text", "x" * 200, "unknown"),
        (b"text", "hex", "unknown"),
        (b"text", "rot13", "unknown"),
        (b"text", "punycode", "unknown"),
        (b"text", "idna", "unknown"),
        (b"\\ud800", "unicode_escape", "unknown"),
        (b"text", "undefined", "unknown"),
        (GERMAN.encode("latin-1"), "utf-8", "is not"),
        (GERMAN.encode("latin-1"), "ascii", "is not"),
        (b"\x81\xff\xff", "shift_jis", "is not"),
        (codecs.BOM_UTF16_LE + b"a", None, "is not"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8a\x00", None, "is not"),
        (codecs.BOM_UTF8 + b"\xff", None, "is not"),
    ],
)
def test_what_does_not_fit_is_a_failure(raw: bytes, charset: str | None, said: str) -> None:
    with pytest.raises(ExtractionFailed, match=said) as failure:
        decode_text(raw, charset)
    assert failure.value.error == "FILE_PARSE_FAILED"


@pytest.mark.parametrize(
    ("content_type", "parsed"),
    [
        ("text/plain", MediaType("text/plain", None)),
        ("Text/Plain; Charset=UTF-8", MediaType("text/plain", "utf-8")),
        ('text/plain; format=flowed; charset="Latin-1"', MediaType("text/plain", "latin-1")),
        ("text/plain;charset=", MediaType("text/plain", None)),
        ("text/plain;;charset = x ;", MediaType("text/plain", "x")),
        ("", MediaType("", None)),
    ],
)
def test_media_types(content_type: str, parsed: MediaType) -> None:
    assert parse_media_type(content_type) == parsed


@pytest.mark.parametrize(
    ("content_type", "reader"),
    [
        ("application/pdf", Reader.PDF),
        ("application/PDF; version=1.7", Reader.PDF),
        ("text/plain", Reader.TEXT),
        ("text/markdown", Reader.TEXT),
        ("text/html", None),
        ("text", None),
    ],
)
def test_readers(content_type: str, reader: Reader | None) -> None:
    assert reader_for(content_type) is reader


@pytest.mark.parametrize(
    ("raw", "content_type", "text"),
    [
        (b"a\x00b\x00", "text/plain", "ab"),
        (codecs.BOM_UTF16_LE + "a\x00b".encode("utf-16-le"), "text/plain", "ab"),
        (b"# Title\n\nSome *text*.\n", "text/markdown", "# Title\n\nSome *text*.\n"),
        (JAPANESE.encode("shift_jis"), "text/markdown; charset=shift_jis", JAPANESE),
        (b"x", "text/plain", "x"),
        (b"+2D3eAA-", "text/plain; charset=utf-7", "😀"),
        ("a\r\nb\u2028c".encode(), "text/plain", "a\r\nb\u2028c"),
    ],
)
def test_files_become_documents(cast: Cast, raw: bytes, content_type: str, text: str) -> None:
    record = ingested(cast.a, raw, "n.txt", content_type)
    assert (record["status"], record["content"]) == ("ready", text)
    invariants.check()


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        (b"", "text/plain"),
        (b" \n\t\r\n ", "text/plain"),
        (b"\x00\x00\x00", "text/plain"),
        ("\u200b\ufeff\u2060".encode(), "text/plain"),
        (codecs.BOM_UTF8, "text/markdown"),
        (codecs.BOM_UTF16_LE, "text/plain"),
        (b"text", "text/plain; charset=klingon"),
        (b"Gr\xf6\xdfe", "text/plain; charset=utf-8"),
    ],
)
def test_files_without_text_fail(cast: Cast, raw: bytes, content_type: str) -> None:
    record = ingested(cast.a, raw, "n.txt", content_type)
    assert record["status"] == "failed"
    assert record["content"] is None
    assert status(cast.a, record["id"])["error"] == "FILE_PARSE_FAILED"
    assert current(record["id"]).error_detail
    invariants.check()


def test_one_endless_line_is_cut(cast: Cast, free_embedder: FakeEmbedder) -> None:
    record = ingested(cast.a, b"word" * 75_001)
    assert record["status"] == "ready"
    assert [len(text) for text in texts(record["id"])] == [100_000, 100_000, 100_000, 4]
    assert record["warnings"]
    invariants.check()


def test_a_type_without_reader(tmp_path: Path) -> None:
    pages = extract_pages(tmp_path / "x", "image/png", keep_going=lambda: None, on_total=lambda total: None)
    with pytest.raises(ExtractionFailed, match="no reader"):
        next(pages)
