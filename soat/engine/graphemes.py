r"""Where a text may be cut: between grapheme clusters (Unicode UAX 29, ``\X``), never inside one."""

import unicodedata

import regex

# The longest cluster that is kept whole. Emoji families and flags have up to about 35 code points, and the
# Stream-Safe Text Format (UAX 15) allows 30 marks in a row; what is longer is noise and may be cut anywhere.
MAX_CLUSTER = 256

_CLUSTER = regex.compile(r"\X")
# Whether a cluster ends after these can depend on more than one character to the left. (After a flag letter too,
# but two of them alone are never a break, so a pair proves nothing wrong.)
_CONTEXTUAL = frozenset({"Mn", "Mc", "Me", "Cf", "Sk", "Lm"})


def floor_boundary(text: str, at: int, start: int = 0) -> int:
    """Return the last cluster boundary at or before ``at``; ``start`` must be a boundary and is the least answer.

    The character at ``at`` has to be in the text, or ``at`` be its end.
    """
    if at <= start:
        return start
    if at >= len(text) or _pair_breaks(text, at):
        return min(at, len(text))
    anchor = at - 1
    while anchor > start and not _pair_breaks(text, anchor):
        anchor -= 1
    boundary = anchor
    for match in _CLUSTER.finditer(text, anchor, at + 1):
        if match.end() > at:
            break
        boundary = match.end()
    return boundary


def cut_point(text: str, start: int, at: int) -> int:
    """Return where to cut ``text[start:]`` when ``at`` is wanted: always beyond ``start``.

    The last boundary at or before ``at``; when the cluster at ``start`` reaches beyond it, the end of
    that cluster; when even that is no cluster of a language, ``at`` itself.
    """
    boundary = floor_boundary(text, at, start)
    if boundary > start:
        return boundary
    match = _CLUSTER.match(text, start, min(start + MAX_CLUSTER + 1, len(text)))
    end = int(match.end()) if match else at
    return end if end - start <= MAX_CLUSTER else max(at, start + 1)


def _pair_breaks(text: str, at: int) -> bool:
    """Tell whether the two characters around ``at`` alone prove a boundary there."""
    left, right = text[at - 1], text[at]
    if left.isascii() and right.isascii():
        return left != "\r" or right != "\n"
    if unicodedata.category(left) in _CONTEXTUAL:
        return False
    return _CLUSTER.fullmatch(left + right) is None
