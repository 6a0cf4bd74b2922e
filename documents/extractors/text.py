"""Plain text and markdown, in whatever charset they are."""

import codecs
from collections.abc import Iterator
from pathlib import Path

from charset_normalizer import from_bytes

from documents.extractors.registry import ExtractionError, ExtractionFailed
from soat.engine.chunk import Page

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 262_144


def read_text(path: Path, charset: str | None) -> Iterator[Page]:
    """Yield the file as one page. Raises ``ExtractionFailed`` when no charset fits."""
    yield Page(1, decode_text(path.read_bytes(), charset))


def decode_text(raw: bytes, charset: str | None) -> str:
    """Decode ``raw``: a byte order mark wins, then the declared charset, then UTF-8, then what it looks like.

    Raises ``ExtractionFailed``.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return _decoded(raw, encoding)
    if charset is not None:
        return _decoded(raw, charset)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return _decoded(raw, _detected(raw))


def _decoded(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except LookupError:
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"The charset {encoding!r} is unknown.") from None
    except ValueError as error:
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"The text is not {encoding}: {error}") from None


def _detected(raw: bytes) -> str:
    best = from_bytes(raw[:_SAMPLE_BYTES]).best()
    if best is None:
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, "The charset of the text cannot be told.")
    return best.encoding
