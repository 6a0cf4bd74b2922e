"""Where a long text is best cut: at a paragraph's end, else a line's, a sentence's, a space, a cluster's."""

import regex

from soat.engine.graphemes import cut_point, floor_boundary

# Searched from the right, so that the first match is the last one before the limit. White space stays with what
# it follows.
_PARAGRAPH = regex.compile(r"(?r)\n[^\S\n]*\n\s*")
_LINE = regex.compile(r"(?r)\n")
_SENTENCE = regex.compile(
    r"""(?r)(?:[.!?\u2026\u061f\u06d4\u0964]["'\u2019\u201d\u00bb)\]]*\s+
    |[\u3002\uff01\uff1f][\u300d\u300f\u201d\uff09]*)""",
    regex.VERBOSE,
)
_SPACE = regex.compile(r"(?r)\s+")

_BREAKS = (_PARAGRAPH, _LINE, _SENTENCE, _SPACE)


def best_cut(text: str, start: int, limit: int) -> int:
    """Return where to end the piece that begins at ``start``: beyond it, and at ``limit`` at the latest.

    Only the second half of the piece is searched: a break near its beginning would leave crumbs.
    Without a break it ends between two grapheme clusters (one longer than the piece may reach beyond the limit).
    """
    middle = start + (limit - start) // 2
    for pattern in _BREAKS:
        match = pattern.search(text, middle, limit)
        if match is not None:
            cut = floor_boundary(text, int(match.end()), start)
            if cut > middle:
                return cut
    return cut_point(text, start, limit)
