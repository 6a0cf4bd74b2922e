"""Request parsers that bound what they read and accept only well-formed input."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any
from urllib.parse import parse_qsl

from django.conf import settings
from django.http import QueryDict
from rest_framework.exceptions import ParseError
from rest_framework.parsers import FormParser, JSONParser

from soat.core.errors import TooLarge, ValidationFailed, printable

_CHUNK = 65_536


def read_bounded(stream: IO[bytes], limit: int) -> bytes:
    """Read ``stream`` to its end; raise ``TooLarge`` as soon as it is longer than ``limit`` bytes."""
    parts: list[bytes] = []
    size = 0
    while block := stream.read(_CHUNK):
        size += len(block)
        if size > limit:
            raise TooLarge(f"The body is larger than {limit} bytes.")
        parts.append(block)
    return b"".join(parts)


def announced_size(parser_context: Mapping[str, Any] | None) -> int:
    """Return the ``Content-Length`` of the request that is parsed."""
    return int((parser_context or {})["request"].META.get("CONTENT_LENGTH") or 0)


def require_whole(received: int, parser_context: Mapping[str, Any] | None) -> None:
    """Raise ``ParseError`` when the client left before it had sent all: half a body is no body."""
    if received < announced_size(parser_context):
        raise ParseError("The body ends before its announced length.")


class RepeatedKey(ValueError):
    """An object of JSON has a key twice: whichever value was taken, somebody would have meant the other."""

    def __init__(self, key: str) -> None:
        self.key = printable(key)
        super().__init__(f"the key {self.key} occurs twice in one object")


def read_json(text: str) -> Any:
    """Return the value. Raises ``ValueError``, also for ``NaN``, ``Infinity`` and a ``RepeatedKey``."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_whole, object_pairs_hook=_distinct)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise ValueError("a number has too many digits") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


def read_form(raw: bytes, encoding: str | None) -> QueryDict:
    """Return the fields of a form or of a query string. Raises ``ParseError``.

    Bytes that are no text become lone surrogates, which no field takes, where Django would
    put other characters in their place.
    """
    charset = encoding or settings.DEFAULT_CHARSET
    form = QueryDict(mutable=True, encoding=charset)
    try:
        pairs = parse_qsl(
            raw.decode(charset, "surrogateescape"),
            keep_blank_values=True,
            encoding=charset,
            errors="surrogateescape",
            max_num_fields=settings.DATA_UPLOAD_MAX_NUMBER_FIELDS,
        )
    except ValueError as error:
        raise ParseError(f"The form or the query cannot be read: {error}.") from None
    for name, value in pairs:
        form.appendlist(name, value)
    return form


class StrictJSONParser(JSONParser):
    """JSON in UTF-8, at most ``MAX_REQUEST_BYTES`` long, without ``NaN`` and ``Infinity``. An empty body is ``{}``."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the decoded value. Raises ``ParseError`` (400) and ``TooLarge`` (413)."""
        encoding = (parser_context or {}).get("encoding", "utf-8")
        raw = read_bounded(stream, settings.MAX_REQUEST_BYTES)
        require_whole(len(raw), parser_context)
        if not raw.strip():
            return {}
        try:
            return read_json(raw.decode(encoding))
        except RepeatedKey as error:
            meta = {"fields": {error.key: "must not occur twice in one object."}}
            raise ValidationFailed(f"The body is not valid JSON: {error}.", meta=meta) from None
        except ValueError as error:
            raise ParseError(f"The body is not valid JSON: {error}") from None


class BoundedFormParser(FormParser):
    """Form-encoded bodies, at most ``MAX_REQUEST_BYTES`` long."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return a ``QueryDict``. Raises ``ParseError`` (400) and ``TooLarge`` (413)."""
        raw = read_bounded(stream, settings.MAX_REQUEST_BYTES)
        require_whole(len(raw), parser_context)
        return read_form(raw, (parser_context or {}).get("encoding"))
