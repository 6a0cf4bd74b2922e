"""What the providers that are reached over HTTP have in common."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from embeddings.port import EmbedderMisconfigured, EmbeddingUnavailable
from soat.engine.windows import Span, character_windows

LONGEST_CONNECT = 5.0
"""Seconds; a server that takes longer to accept a connection is not there."""

MOST_CONNECTIONS = 32
"""Connections of one process to one provider."""

LONGEST_ANSWER = 64 * 2**20
"""Bytes; 96 vectors of 4,000 numbers take about a tenth of it."""

LONGEST_MESSAGE = 300
"""Characters of a server's own words that are passed on."""

LONGEST_WINDOW = 2048
"""Tokens; wider windows would fit some models, but one vector then stands for several subjects."""

CHARACTERS_PER_TOKEN = 3
"""On the safe side for prose (4 to 5); denser text is refused as too long and cut further."""

PASSING = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.FAILED_DEPENDENCY,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)
"""Statuses below 500 that a later try can heal; 424 is how some servers report a failure of the model."""


def checked_url(url: str, *, example: str, setting: str = "EMBEDDING_BASE_URL") -> str:
    """Return the address of a server without a slash at its end; ``setting`` names it in errors.

    Raises `EmbedderMisconfigured` unless it is a plain address: a user name, password or query could hold a secret,
    and addresses stand in error messages.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise EmbedderMisconfigured(f"{setting} is no address; it must be one such as {example}.") from error
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise EmbedderMisconfigured(
            f"{setting} must be an address such as {example}, without user name, password, query or fragment."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EmbedderMisconfigured(f"{setting} is {url!r}; it must be an address such as {example}.")
    return url.rstrip("/")


def checked_key(key: str | None) -> str | None:
    """Return the setting ``EMBEDDING_API_KEY``, None for an empty one.

    Raises `EmbedderMisconfigured` for what cannot stand in a header. HTTP libraries would raise too, but with the
    key in their message.
    """
    if not key:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise EmbedderMisconfigured("EMBEDDING_API_KEY holds white space or characters that no key has.")
    return key


def on_loopback(url: str) -> bool:
    """Tell whether an address is this machine's own, which a proxy for the outside world does not know."""
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


def estimated_windows(text: str, *, tokens: int) -> list[Span]:
    """Cut by an estimate of the model's input in characters; the server's word decides in the end."""
    limit = min(tokens, LONGEST_WINDOW) * CHARACTERS_PER_TOKEN
    return character_windows(text, limit=limit, overlap=limit // 10)


def read_body(chunks: Iterable[bytes], *, deadline: float, server: str) -> bytes:
    """Join an answer's chunks.

    Raises `EmbeddingUnavailable` when the monotonic clock passes ``deadline`` (a socket's own timeout starts anew with
    each chunk) or the answer grows past any sensible size.
    """
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > LONGEST_ANSWER:
            raise EmbeddingUnavailable(f"{server} sends more than {LONGEST_ANSWER} bytes.")
        if time.monotonic() > deadline:
            raise EmbeddingUnavailable(f"{server} did not answer in time.")
    return bytes(body)


def parsed(body: bytes) -> Any:
    """Return the JSON of a body. Raises ``ValueError`` if it is none.

    Integers become floats, because one of a thousand digits is no number that an array takes.
    """
    try:
        return json.loads(body, parse_int=float)
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply.") from error


def quoted(message: str, *, key: str | None) -> str:
    """Return a server's words fit for an error message or a log: without the key, on one line, not too long."""
    if key:
        message = message.replace(key, "[key]")
    message = " ".join(message.split())
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + "…"
