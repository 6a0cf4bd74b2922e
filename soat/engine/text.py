"""Text hygiene: what may be stored, and when two texts are the same text."""

import hashlib
import re
import unicodedata
from enum import StrEnum

# Unassigned and private-use code points (Cn, Co) may have a glyph somewhere, so they count as visible.
_INVISIBLE = frozenset({"Cc", "Cf"})

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

# Full stops and exclamation marks of the common scripts. The Greek question mark is not here: NFC makes
# it a semicolon, which is no closing punctuation, so a Greek question stays apart from its statement.
_STOPS = frozenset(".!\u2026\u3002\uff01\uff0e\uff61\u0964\u0965\u06d4\u0589\u1362\u203c")
_QUESTIONS = frozenset("?\uff1f\u061f\u203d\u2047\u2048\u2049\u055e\u1367")
# Closing quote -> the marks that can have opened it (German low quotes open, French ones do both).
_QUOTES = {
    '"': '"\u201e',
    "'": "'",
    "\u201d": "\u201c\u201e\u201d",
    "\u201c": "\u201e",
    "\u2019": "\u2018\u201a\u2019",
    "\u2018": "\u201a",
    "\u00bb": "\u00ab",
    "\u00ab": "\u00bb",
    "\u300d": "\u300c",
    "\u300f": "\u300e",
}
# Quotes that open and close: f'' is not a quotation.
_BOTH_WAYS = frozenset("\"'\u201d\u2019")


class TextFault(StrEnum):
    """Why a text is refused."""

    EMPTY = "empty"
    NUL = "nul"
    SURROGATE = "surrogate"


class TextRefused(ValueError):
    """A text that must not be stored; ``reason`` says why."""

    def __init__(self, reason: TextFault) -> None:
        super().__init__(_REFUSALS[reason])
        self.reason = reason


_REFUSALS = {
    TextFault.EMPTY: "the text is empty",
    TextFault.NUL: "the text holds a NUL character",
    TextFault.SURROGATE: "the text holds a lone surrogate",
}


def is_blank(text: str) -> bool:
    """Tell whether nothing of the text can be seen: white space, control and format characters only."""
    if not text.strip():
        return True
    return all(char.isspace() or unicodedata.category(char) in _INVISIBLE for char in text)


def clean_fact(text: str) -> str:
    """Return the text as it is stored: stripped and in NFC.

    Raises ``TextRefused`` for a NUL, for a lone surrogate (neither can be stored by PostgreSQL)
    and for a text of which nothing can be seen.
    """
    if "\0" in text:
        raise TextRefused(TextFault.NUL)
    if _LONE_SURROGATE.search(text):
        raise TextRefused(TextFault.SURROGATE)
    if is_blank(text):
        raise TextRefused(TextFault.EMPTY)
    return unicodedata.normalize("NFC", text.strip()).strip()


def strip_nul(text: str) -> str:
    """Make extracted text storable without refusing it.

    NULs are removed (they stand between characters and mean nothing), a surrogate pair becomes
    the character that it encodes, and a lone surrogate becomes U+FFFD, since something was lost there.
    """
    if "\0" in text:
        text = text.replace("\0", "")
    if _LONE_SURROGATE.search(text):
        text = _SURROGATE_PAIR.sub(_join_surrogates, text)
        text = _LONE_SURROGATE.sub("\ufffd", text)
    return text


def _join_surrogates(match: re.Match[str]) -> str:
    return match.group().encode("utf-16-be", "surrogatepass").decode("utf-16-be")


def normalise_for_hash(text: str) -> str:
    """Return the form in which exact restatements are equal.

    Canonical caseless form (Unicode 3.13, D145, composed), white space collapsed, closing
    punctuation evened out: full stops, exclamation marks, ellipses and the quotes that close a
    quotation vanish from the end. Nothing inside the text is touched ("-5" is not "5") and no other
    sign is closing punctuation ("C++" is not "C", "100%" is not "100").
    A question keeps one "?": it is not the fact that it asks about.
    A text of closing punctuation alone stays as it is.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    collapsed = " ".join(folded.split())
    end = _closing_start(collapsed)
    if end == 0:
        return collapsed
    asked = any(char in _QUESTIONS for char in collapsed[end:])
    return collapsed[:end] + ("?" if asked else "")


def content_hash(text: str) -> str:
    """Return the SHA-256 of the normalised text: 64 hexadecimal digits, the same in every process."""
    return hashlib.sha256(normalise_for_hash(text).encode("utf-8", "surrogatepass")).hexdigest()


def _closing_start(text: str) -> int:
    """Return where the closing punctuation of the text begins; 0 when there is nothing else."""
    opened: dict[str, int] = {}
    end = len(text)
    while end > 0:
        char = text[end - 1]
        if char in _QUOTES:
            if char not in opened:
                opened[char] = _first_opener(text, _QUOTES[char])
            # A quote after a digit is a unit (5 feet, 12 inches), one without a partner may be a prime or an
            # apostrophe: both are part of the fact.
            if opened[char] >= end - 1 or (end > 1 and text[end - 2].isdecimal()):
                break
        elif char != " " and char not in _STOPS and char not in _QUESTIONS:
            break
        end -= 1
    return end


def _first_opener(text: str, openers: str) -> int:
    """Return where the first of the openers stands, one that could also close only after a space or bracket.

    The text's length for nowhere.
    """
    found = (
        at
        for at, char in enumerate(text)
        if char in openers and (char not in _BOTH_WAYS or at == 0 or text[at - 1] in " ([{")
    )
    return next(found, len(text))
