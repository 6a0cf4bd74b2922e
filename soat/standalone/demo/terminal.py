"""Print for a person: as wide as the terminal, coloured and redrawn only where that is wanted."""

import contextlib
import shutil
import textwrap
from collections.abc import Mapping
from enum import StrEnum
from typing import TextIO

_NARROWEST, _WIDEST = 48, 110
_BAR = 24


class Style(StrEnum):
    """How a text stands out, as the codes that terminals understand."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"


class Terminal:
    """A stream for people. Never fails because nobody reads any more, or because a character is unknown to it."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str]) -> None:
        with contextlib.suppress(AttributeError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[attr-defined]
        self._stream = stream
        self.is_live = stream.isatty() and environment.get("TERM") != "dumb"
        self._has_colours = self.is_live and not environment.get("NO_COLOR")
        columns = shutil.get_terminal_size((_WIDEST, 24)).columns
        self.width = min(max(columns - 1, _NARROWEST), _WIDEST)

    def styled(self, text: str, style: Style) -> str:
        """Return the text with the codes of a style, or as it is where there are no colours."""
        return f"\x1b[{style}m{text}\x1b[0m" if self._has_colours and style else text

    def write(self, text: str = "", style: Style = Style.PLAIN) -> None:
        """Print a line."""
        self.piece(f"{self.styled(text, style)}\n")

    def heading(self, text: str) -> None:
        """Print a line that begins something new."""
        self.write()
        self.write(text, Style.BOLD)

    def labelled(
        self, label: str, text: str, style: Style = Style.PLAIN, *, label_style: Style = Style.PLAIN, most: int = 1
    ) -> None:
        """Print a text beside a label, at most so many lines of it, the later ones as far in as the first."""
        for place, line in enumerate(lines_of(text, self.width - len(label), most)):
            start = self.styled(label, label_style) if place == 0 else " " * len(label)
            self.write(f"{start}{self.styled(line, style)}")

    def piece(self, text: str) -> None:
        """Print what a line begins or goes on with, at once."""
        # A pipe whose reader has gone (``| head``) is no reason to stop halfway.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


class ProgressBar:
    """A line that shows how far something is: redrawn on a terminal, else printed anew with each change."""

    def __init__(self, terminal: Terminal, label: str) -> None:
        self._terminal = terminal
        self._label = label
        self._shown = ""

    def show(self, done: int, total: int | None, what: str) -> None:
        """Show ``done`` of ``total`` (``None``: not known yet)."""
        filled = _BAR * min(done, total) // total if total else 0
        if self._terminal.is_live:
            line = f"{self._label}[{'#' * filled}{'.' * (_BAR - filled)}] {what}"[: self._terminal.width]
        else:
            line = f"{self._label}{what}"
        if line == self._shown:
            return
        self._shown = line
        self._terminal.piece(f"\r{line}\x1b[K" if self._terminal.is_live else f"{line}\n")

    def end(self) -> None:
        """Leave the line."""
        if self._terminal.is_live and self._shown:
            self._terminal.piece("\n")


def lines_of(text: str, width: int, most: int) -> list[str]:
    """Return at most ``most`` lines of a text, cut between words; the last says with dots that there was more."""
    lines = textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], textwrap.shorten(" ".join(lines[most - 1 : most + 1]), width, placeholder=" ...")]


def passage(text: str, around: str, length: int) -> str:
    """Return about ``length`` characters of a text on one line, around a phrase if it has it, else its beginning.

    Dots say where something was left out.
    """
    flat = " ".join(text.split())
    found = flat.find(around) if around else -1
    if len(flat) <= length or found < 0:
        return flat
    start = max(0, min(found - (length - len(around)) // 2, len(flat) - length))
    start = flat.rfind(" ", 0, start) + 1
    return flat[start:] if start == 0 else f"... {flat[start:]}"
