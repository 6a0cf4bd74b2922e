"""Windows of a text that is longer than an embedding model's input: together they cover all of it."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from soat.engine.boundaries import best_cut
from soat.engine.graphemes import floor_boundary

# An eighth of the input is repeated from window to window, so that a sentence at a cut is whole in one of them:
# 32 tokens of 256, about the length of a long English sentence.
OVERLAP_DIVISOR = 8

_SPACE = re.compile(r"\s+")

TokenOffsets = Callable[[str], Sequence[tuple[int, int]]]
"""Start and end (characters) of each token of a text, in order, special tokens left out."""


@dataclass(frozen=True, slots=True)
class TextWindow:
    """A part of a text: ``text[start:end]``."""

    start: int
    end: int


def embedding_windows(text: str, max_tokens: int, offsets: TokenOffsets) -> list[TextWindow]:
    """Split a text into windows of at most ``max_tokens`` tokens that cover every character of it.

    ``max_tokens`` leaves out the special tokens that the model adds. A text that fits is one window, an
    empty one is none. Cuts prefer the end of a paragraph, line or sentence, then a space. Every window is
    counted again by itself, since a cut may change how its last word is read; one that is still too long
    is cut shorter, down to one character. Raises ``ValueError`` for a ``max_tokens`` below 1.
    """
    if max_tokens < 1:
        raise ValueError("max_tokens must be at least 1")
    if not text:
        return []
    tokens = offsets(text)
    if len(tokens) <= max_tokens:
        return [TextWindow(0, len(text))]
    windows: list[TextWindow] = []
    start = first = 0
    while True:
        while first < len(tokens) and tokens[first][1] <= start:
            first += 1
        end = len(text)
        if len(tokens) - first > max_tokens:
            end = best_cut(text, start, max(tokens[first + max_tokens][0], start + 1))
        end = _shortened(text, start, end, max_tokens, offsets)
        if windows and end <= windows[-1].end:
            # All of it was repetition (few tokens, many characters): go on where the last window ended.
            start = windows[-1].end
            continue
        windows.append(TextWindow(start, end))
        if end >= len(text):
            return windows
        start = _next_start(text, start, end, tokens, max_tokens)


def _shortened(text: str, start: int, end: int, max_tokens: int, offsets: TokenOffsets) -> int:
    """Return an end at which ``text[start:end]`` fits by its own count, or is one character."""
    while end - start > 1 and len(offsets(text[start:end])) > max_tokens:
        end = min(best_cut(text, start, start + max(1, (end - start) * 3 // 4)), end - 1)
    return end


def _next_start(text: str, start: int, end: int, tokens: Sequence[tuple[int, int]], max_tokens: int) -> int:
    """Return where the window after ``text[start:end]`` begins: some tokens before its end, at a word if it can."""
    following = bisect_left(tokens, end, key=itemgetter(0))
    back = tokens[max(following - max_tokens // OVERLAP_DIVISOR, 0)][0] if following else end
    if not start < back < end:
        return end
    space = _SPACE.search(text, back, end)
    if space is not None:
        return space.end()
    boundary = floor_boundary(text, back, start)
    return boundary if boundary > start else end
