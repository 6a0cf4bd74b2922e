"""Where to cut a text that is longer than a model's input: pure functions, no model needed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

SENTENCE_ENDS = ".!?…。！？"  # noqa: RUF001
CLOSING_MARKS = "\"'”’»)]"  # noqa: RUF001
LONGEST_GAP = 64
"""How far back to look for the end of a sentence; a page of blanks must not cost the square of its length."""


class Span(NamedTuple):
    """A window of a text, as character offsets: ``text[start:end]``."""

    start: int
    end: int


class Boundary(IntEnum):
    """How well a text may be cut before a token, best last."""

    INSIDE_CHARACTER = 0
    INSIDE_WORD = 1
    BETWEEN_TOKENS = 2
    WHITE_SPACE = 3
    SENTENCE = 4


def token_windows(text: str, offsets: Sequence[tuple[int, int]], *, limit: int, overlap: int) -> list[Span]:
    """Cut a text into windows of at most ``limit`` tokens that share about ``overlap`` tokens.

    ``offsets`` are the tokens' character offsets in order. The windows are of similar size (a short rest would
    have a vector of its own that says little), end at a sentence or at white space where one is near, never
    within a character, and together hold every character. ``0 <= 4 * overlap < limit``.
    """
    count = len(offsets)
    windows: list[Span] = []
    first = 0
    while count - first > limit:
        cut = _best_cut(text, offsets, first, limit=limit, overlap=overlap)
        windows.append(Span(offsets[first][0] if first else 0, offsets[cut][0]))
        first = _overlap_start(text, offsets, cut, overlap=overlap)
    windows.append(Span(offsets[first][0] if first else 0, len(text)))
    return windows


def character_windows(text: str, *, limit: int, overlap: int) -> list[Span]:
    """Cut a text into windows of at most ``limit`` characters, for providers whose tokenizer is not at hand."""
    if len(text) <= limit:
        return [Span(0, len(text))]
    return token_windows(text, [(place, place + 1) for place in range(len(text))], limit=limit, overlap=overlap)


def halves(text: str) -> tuple[str, str]:
    """Cut a text of two or more characters near its middle, at the best boundary there, without overlap."""
    offsets = [(place, place + 1) for place in range(len(text))]
    middle = len(text) // 2
    reach = len(text) // 8
    cut = _nearest_best(text, offsets, range(max(1, middle - reach), middle + reach + 1), middle)
    return text[:cut], text[cut:]


def _best_cut(text: str, offsets: Sequence[tuple[int, int]], first: int, *, limit: int, overlap: int) -> int:
    """Return the token before which the window that starts at ``first`` ends."""
    left = len(offsets) - first
    windows = -(-(left - overlap) // (limit - overlap))
    even = first + -(-(left + (windows - 1) * overlap) // windows)
    lowest = max(first + overlap + 1, even - limit // 4)
    return _nearest_best(text, offsets, range(lowest, first + limit + 1), even)


def _nearest_best(text: str, offsets: Sequence[tuple[int, int]], cuts: range, wanted: int) -> int:
    return max(cuts, key=lambda cut: (_boundary(text, offsets, cut), -abs(cut - wanted)))


def _overlap_start(text: str, offsets: Sequence[tuple[int, int]], cut: int, *, overlap: int) -> int:
    """Return the earliest token of the overlap that begins a word, or else a character."""
    for worst in (Boundary.WHITE_SPACE, Boundary.INSIDE_WORD):
        for start in range(cut - overlap, cut + 1):
            if _boundary(text, offsets, start) >= worst:
                return start
    return cut


def _boundary(text: str, offsets: Sequence[tuple[int, int]], cut: int) -> Boundary:
    before, after = offsets[cut - 1][1], offsets[cut][0]
    if after < before:
        return Boundary.INSIDE_CHARACTER
    left, right = text[max(before - 1, 0)], text[min(after, len(text) - 1)]
    gap = text[before:after]
    if left.isspace() or any(mark.isspace() for mark in gap):
        return Boundary.SENTENCE if _ends_sentence(text, after) else Boundary.WHITE_SPACE
    return Boundary.INSIDE_WORD if left.isalnum() and right.isalnum() else Boundary.BETWEEN_TOKENS


def _ends_sentence(text: str, end: int) -> bool:
    """Tell whether the text before ``end``, white space left out, closes a sentence or a line."""
    start = end
    earliest = max(0, end - LONGEST_GAP)
    while start > earliest and text[start - 1].isspace():
        start -= 1
        if text[start] == "\n":
            return True
    while start > 0 and text[start - 1] in CLOSING_MARKS:
        start -= 1
    return start > 0 and text[start - 1] in SENTENCE_ENDS
