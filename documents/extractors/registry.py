"""Which content types are read here, and how."""

from dataclasses import dataclass
from enum import StrEnum


class ExtractionError(StrEnum):
    """Why a file has no text, as its document's ``error`` says it."""

    PARSE_FAILED = "FILE_PARSE_FAILED"
    ENCRYPTED = "FILE_ENCRYPTED"
    NOT_FOUND = "FILE_NOT_FOUND"
    LIMIT_EXCEEDED = "FILE_LIMIT_EXCEEDED"


class ExtractionFailed(Exception):
    """A file could not be turned into pages."""

    def __init__(self, error: ExtractionError, detail: str) -> None:
        super().__init__(detail)
        self.error = error
        self.detail = detail


class Reader(StrEnum):
    """The native extractors."""

    PDF = "pdf"
    TEXT = "text"


_READERS = {"application/pdf": Reader.PDF, "text/plain": Reader.TEXT, "text/markdown": Reader.TEXT}


@dataclass(frozen=True, slots=True)
class MediaType:
    """A content type taken apart: ``text/plain`` and its ``charset``, None where it has none."""

    essence: str
    charset: str | None


def parse_media_type(content_type: str) -> MediaType:
    """Take ``text/plain; charset=latin-1`` apart; the essence is in lower case."""
    essence, *parameters = content_type.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip():
            return MediaType(essence.strip().lower(), value.strip().strip("\"'").lower())
    return MediaType(essence.strip().lower(), None)


def reader_for(content_type: str) -> Reader | None:
    """Return the native extractor of a content type, or None where there is none."""
    return _READERS.get(parse_media_type(content_type).essence)
