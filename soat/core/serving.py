"""The request that is being answered, for what is written about it: the log and the audit trail.

Nothing decides by it what a caller may do: that is handed on explicitly.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest

from soat.core.openapi import operation_id_of

_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::\d+)?")
_WITH_PORT = re.compile(r"(\d+\.\d+\.\d+\.\d+):\d+")

_serving: ContextVar[HttpRequest | None] = ContextVar("serving", default=None)
_request_id: ContextVar[str] = ContextVar("request_id", default="")


@contextmanager
def serving(request: HttpRequest, request_id: str) -> Iterator[None]:
    """Say that all that happens in the block happens for a request."""
    tokens = _serving.set(request), _request_id.set(request_id)
    try:
        yield
    finally:
        _serving.reset(tokens[0])
        _request_id.reset(tokens[1])


def served_request() -> HttpRequest | None:
    """Return the request that is being answered, None outside of one."""
    return _serving.get()


def served_request_id() -> str:
    """Return its id, an empty string outside of one."""
    return _request_id.get()


def client_address(request: HttpRequest) -> str:
    """Return the address of the client, an empty string where none is known.

    Behind proxies it is in ``X-Forwarded-For``, as many places from its end as proxies are trusted: what
    stands before that, anybody may have written. Where the header does not say it, it is whoever connected.
    """
    connected = _readable(request.META.get("REMOTE_ADDR", ""))
    if not settings.TRUSTED_PROXIES:
        return connected
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if len(forwarded) < settings.TRUSTED_PROXIES:
        return connected
    return _readable(forwarded[-settings.TRUSTED_PROXIES]) or connected


def _readable(text: str) -> str:
    """Return an address without the port that some proxies write behind it, an empty string for what is none."""
    host = _BRACKETED.fullmatch(text.strip()) or _WITH_PORT.fullmatch(text.strip())
    try:
        address = ip_address(host[1] if host else text.strip())
    except ValueError:
        return ""
    # A server that listens on IPv6 for both sees the clients of IPv4 in here. Behind a percent sign stands by which
    # interface of this machine somebody came: no part of the address, and as long as a client likes.
    return str(getattr(address, "ipv4_mapped", None) or address).partition("%")[0]


def operation_name(request: HttpRequest) -> str:
    """Return what was asked for, one of few names: never the path, which holds ids and whatever a client types.

    The operationId of the API, else the route, ``admin`` for all of the admin, ``unknown`` for a path that
    leads nowhere and ``none`` for what was answered before any route was looked for (static files, refusals).
    """
    match = request.resolver_match
    if match is None:
        return "none"
    if match.namespaces:
        return match.namespaces[0]
    actions = getattr(match.func, "actions", None) or {}
    method = (request.method or "").lower()
    action = getattr(getattr(match.func, "cls", None), actions.get(method, ""), None)
    return operation_id_of(action) or (match.route if not match.route.startswith("^") else "unknown")
