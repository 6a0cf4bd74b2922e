"""Plain text and markdown, in whatever charset they are."""

import codecs
from collections.abc import Iterator
from pathlib import Path

from charset_normalizer import CharsetMatch, from_bytes

from documents.extractors.registry import ExtractionError, ExtractionFailed
from soat.engine.chunk import Page

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Codecs that Python has and that are no charset of a text; some take the square of its length.
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
_SAMPLE_BYTES = 262_144
_LONGEST_CHARACTER = 4
WESTERN = "cp1252"
"""Latin-1 with typographic quotes, the likeliest charset where the bytes fit several of the Latin script."""
_NEAR = 0.1


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
        if codecs.lookup(encoding).name in _NO_CHARSETS:
            raise LookupError(encoding)
        return raw.decode(encoding)
    except LookupError:
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"The charset {encoding!r} is unknown.") from None
    except ValueError as error:
        raise ExtractionFailed(ExtractionError.PARSE_FAILED, f"The text is not {encoding}: {error}") from None


def _detected(raw: bytes) -> str:
    """Return the charset that the text looks like. Raises ``ExtractionFailed``."""
    # A sample that ends within a character would rule its charset out: try where else the character may end.
    for cut in range(_LONGEST_CHARACTER if len(raw) > _SAMPLE_BYTES else 1):
        matches = list(from_bytes(raw[: _SAMPLE_BYTES - cut]))
        if matches:
            return _likeliest(matches)
    raise ExtractionFailed(ExtractionError.PARSE_FAILED, "The charset of the text cannot be told.")


def _likeliest(matches: list[CharsetMatch]) -> str:
    """Return the charset of the best match, or ``WESTERN`` where it fits about as well as another of one byte."""
    best = matches[0]
    for match in matches:
        reads_alike = match.chaos <= best.chaos + _NEAR and match.coherence >= best.coherence - _NEAR
        if WESTERN in match.could_be_from_charset and reads_alike and not best.multi_byte_usage:
            return WESTERN
    return best.encoding
