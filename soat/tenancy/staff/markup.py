"""Small pieces of HTML that the admin pages are made of. Every value is escaped."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar, cast

from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

AdminT = TypeVar("AdminT")
NONE = "–"  # noqa: RUF001  (a dash where there is no value)


class Tone(StrEnum):
    """What a colour says."""

    PLAIN = "plain"
    BUSY = "busy"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that belong to the object of a page, and where all of them are."""

    title: str
    headers: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: tuple[str, str] | None = None
    empty: str = "None."


def once(method: Callable[[AdminT, Any], str]) -> Callable[[AdminT, Any], str]:
    """Let a display method that reads something read it once: the theme calls it several times for one page."""
    key = f"_shown_by_{method.__name__}"

    @functools.wraps(method)
    def remembered(self: AdminT, obj: Any) -> str:
        if key not in obj.__dict__:
            obj.__dict__[key] = method(self, obj)
        return cast("str", obj.__dict__[key])

    return remembered


def change_url(obj: Model) -> str:
    """Return the address of an object's page."""
    meta = obj._meta  # noqa: SLF001  (Django's own public name)
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[quote(obj.pk)])


def list_url(model: str, **lookups: str | int) -> str:
    """Return the address of a list such as ``memories_memoryentry``, narrowed by ``lookups``."""
    query = urlencode(lookups)
    return reverse(f"admin:{model}_changelist") + (f"?{query}" if query else "")


def anchor(url: str, text: object) -> SafeString:
    """Return a link."""
    return format_html('<a class="text-link" href="{}">{}</a>', url, text)


def link(obj: Model | None, text: object | None = None) -> SafeString | str:
    """Return a link to an object's page, or a dash."""
    return NONE if obj is None else anchor(change_url(obj), excerpt(str(obj)) if text is None else text)


def badge(text: str, tone: Tone) -> SafeString:
    """Return a coloured label."""
    return format_html('<span class="soat-badge soat-{}">{}</span>', tone, text)


def bar(percent: int, tone: Tone, text: str) -> SafeString:
    """Return a bar that is filled to ``percent``, with its text."""
    return format_html(
        '<span class="soat-progress soat-{0}" role="progressbar" aria-valuemin="0" aria-valuemax="100"'
        ' aria-valuenow="{1}" aria-label="{2}">'
        '<span class="soat-track"><span class="soat-fill" style="width: {1}%"></span></span>'
        '<span class="soat-progress-text">{2}</span></span>',
        tone,
        percent,
        text,
    )


def code(text: str) -> SafeString:
    """Return an id or a path in a fixed-width face."""
    return format_html('<code class="soat-code">{}</code>', text)


def block(text: str) -> SafeString:
    """Return a long text as it is, with its lines."""
    return format_html('<div class="soat-text">{}</div>', text)


def excerpt(text: str, length: int = 100) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: length * 2].split())
    return line if len(line) <= length and len(text) <= length * 2 else f"{line[:length].rstrip()}…"


def moment(when: datetime | None) -> SafeString | str:
    """Return a time in UTC, to the second."""
    if when is None:
        return NONE
    return format_html('<span class="soat-line">{}</span>', f"{localtime(when):%Y-%m-%d %H:%M:%S} UTC")


def size(number: int | None) -> str:
    """Return a number of bytes as people read it."""
    if number is None:
        return "unknown size"
    value, units = float(number), ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 1_000 and len(units) > 1:  # noqa: PLR2004
        value /= 1_000
        units.pop(0)
    return f"{number:,} bytes" if units[0] == "bytes" else f"{value:.1f} {units[0]}"
