"""Request parsers that bound what they read and accept only well-formed input."""

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.http import QueryDict
from rest_framework.exceptions import ParseError
from rest_framework.parsers import FormParser, JSONParser

from soat.core.errors import TooLarge

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


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


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
            return json.loads(raw.decode(encoding), parse_constant=_refuse_constant)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
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
        return QueryDict(raw, encoding=(parser_context or {}).get("encoding", "utf-8"))
