"""What the settings alone show, and whether the public address leads here."""

import secrets
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from soat.operations.doctor.findings import Finding, fine, note, wrong
from soat.operations.middleware import HEADER

SHORTEST_SECRET = 50
FEWEST_CHARACTERS = 5
ADDRESS_TIMEOUT_SECONDS = 3.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def check_configuration() -> Iterator[Finding]:
    """Look at the settings; nothing is asked over the network."""
    yield from _check_debug()
    yield from _check_secret_key()
    yield from _check_encryption()
    if settings.METRICS_TOKEN and not settings.METRICS_DIR:
        yield note(
            "METRICS_DIR",
            "METRICS_TOKEN is set and METRICS_DIR is not.",
            why="GET /metrics then shows the numbers of whichever web process answers, and none of the workers.",
            mend="set METRICS_DIR to a folder of this machine (one container, one folder).",
        )


def _check_debug() -> Iterator[Finding]:
    if settings.DEBUG:
        yield wrong(
            "DEBUG",
            "DEBUG is on.",
            why="An error page then shows source code and settings to whoever meets it, and memory grows.",
            mend="set DEBUG=false, or leave it out.",
        )
    else:
        yield fine("DEBUG", "off")


def _check_secret_key() -> Iterator[Finding]:
    key = settings.SECRET_KEY
    weak = len(key) < SHORTEST_SECRET or len(set(key)) < FEWEST_CHARACTERS or "insecure" in key
    if weak:
        yield wrong(
            "SECRET_KEY",
            "SECRET_KEY is easy to guess.",
            why="Every login is signed with it: who guesses it can act as any user.",
            mend="set SECRET_KEY to the output of: "
            'python -c "import secrets; print(secrets.token_urlsafe(50))" (it ends all logins).',
        )
    else:
        yield fine("SECRET_KEY", f"{len(key)} characters")


def _check_encryption() -> Iterator[Finding]:
    if not settings.FIELD_ENCRYPTION_KEYS:
        yield wrong(
            "FIELD_ENCRYPTION_KEYS",
            "FIELD_ENCRYPTION_KEYS is not set.",
            why="Secrets of other services cannot be stored without a key to encrypt them with.",
            mend="set FIELD_ENCRYPTION_KEYS to the output of: python -c "
            '"from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())", and keep it safe.',
        )
    else:
        yield fine("FIELD_ENCRYPTION_KEYS", f"{len(settings.FIELD_ENCRYPTION_KEYS)} set")


def check_address() -> Iterator[Finding]:
    """Call the server by its public address, as a client would."""
    address = settings.BASE_URL
    if not address:
        yield wrong(
            "SOAT_BASE_URL",
            "SOAT_BASE_URL is not set.",
            why="Links that others follow back to the server cannot be made, cookies are not kept to HTTPS,"
            " and forms of the admin are refused behind a proxy.",
            mend="set SOAT_BASE_URL to the address that clients use, such as https://soat.example.com.",
        )
        return
    parts = urlsplit(address)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        yield note(
            "SOAT_BASE_URL",
            f"{address} is not https.",
            why="Passwords and API keys cross the network readably.",
            mend="put a proxy with a certificate in front, and set SOAT_BASE_URL to its https address.",
        )
    yield from _call(address)


def _call(address: str) -> Iterator[Finding]:
    ours = secrets.token_hex(8)
    try:
        with httpx.Client(timeout=ADDRESS_TIMEOUT_SECONDS, follow_redirects=False) as client:
            answer = client.get(f"{address}/api/v1/users/me", headers={HEADER: ours})
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        yield note(
            "SOAT_BASE_URL",
            f"{address} does not answer from here: {error or type(error).__name__}.",
            why="Clients that follow a link of the server may not arrive either.",
            mend="start the web server, check the proxy and the name; where only this machine cannot reach it, all is"
            " well.",
        )
        return
    if answer.has_redirect_location and answer.headers.get("Location", "").startswith(address):
        yield wrong(
            "SOAT_BASE_URL",
            f"{address} redirects to itself for ever.",
            why="The server does not learn from the proxy that it was called by https, so it asks for that again.",
            mend="have the proxy send X-Forwarded-Proto, or name the header that it sends in SECURE_PROXY_SSL_HEADER.",
        )
    elif answer.headers.get(HEADER) != ours:
        yield wrong(
            "SOAT_BASE_URL",
            f"{address} is answered by something else (status {answer.status_code}).",
            why="Clients and callbacks that use this address do not reach the server.",
            mend="set SOAT_BASE_URL to the server's own address, or mend the proxy's route to it.",
        )
    else:
        yield fine("SOAT_BASE_URL", address)
