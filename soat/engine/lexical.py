"""What full-text search is given to read: plain words, whatever stands in the text."""

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import regex

TEXT_SEARCH_CONFIGS = (
    *("simple", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "estonian", "finnish"),
    *("french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali"),
    *("norwegian", "portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"),
)
"""The configurations that PostgreSQL 18 brings along: ``simple`` takes words as they are, the others stem them."""

MAX_WORD_LENGTH = 200
"""PostgreSQL leaves out words from 2,048 bytes on; 200 characters have 800 at most."""

MAX_LEXEME_BYTES = 900_000
"""What the words of one text may take.

A tsvector holds 1,048,575 bytes of lexemes and positions (``MAXSTRPOS``); one more is an error, and the row
could not be stored. The rest is for dictionaries that make a word longer than it was.
"""

POSITION_BYTES = 2
WORD_BYTES = 5
"""In a tsvector a lexeme has a position for each time it occurs, and once a count, a first position and padding."""

MAX_JOINED_PARTS = 6

# What has no width and no meaning inside of a word (soft hyphen, joiners, marks of direction, variation selectors)
# vanishes; only the zero-width space parts words.
_IGNORED = regex.compile(r"(?!\u200b)\p{Default_Ignorable_Code_Point}+")

# What folding makes of the capital İ: nobody who looks for Istanbul writes it.
_DOTTED_I = "i\u0307"

# Other numbers (No) become digits when they are folded, or PostgreSQL's parser would part words at them.
_SOLID = r"[\p{L}\p{Nd}\p{Nl}]"
# Characters of the scripts that put no space between words. The mark of long vowels is of no script.
_UNSPACED = (
    rf"(?:(?={_SOLID})"
    r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*+)"
)
_SPACED = rf"(?:(?!{_UNSPACED}){_SOLID}\p{{M}}*+)"
_SIGN = r"[-_./:@+#&]"
_LOOSE = regex.compile(r"[/:@+#&]")
_RUN = regex.compile(
    rf"(?P<unspaced>{_UNSPACED}++)|(?P<compound>{_SPACED}++(?:{_SIGN}{_SPACED}++)*+)",
)
_LETTER = regex.compile(r"\P{M}\p{M}*+")
_SIGNS = regex.compile(_SIGN)


def lexical_text(text: str) -> str:
    """Return the words of ``text`` with spaces between them, for ``to_tsvector`` and for queries alike.

    PostgreSQL's own parser would make a host, a path or a signed number of what looks like one, and then
    a part of it is not found, nor the whole beside another sign. So it sees letters, marks and numbers only:
    folded (NFKC, no case), a compound such as ``SKU-4711`` as its parts and as one word without the signs,
    and what is written without spaces as pairs of neighbouring characters. Of a text whose words would not
    fit into a tsvector the end is left out.
    """
    words = [word[:MAX_WORD_LENGTH] for word in _words(_folded(text))]
    joined = " ".join(words)
    if len(joined.encode()) + WORD_BYTES * len(words) <= MAX_LEXEME_BYTES:
        return joined
    return " ".join(_that_fit(words))


def _folded(text: str) -> str:
    """Return the compatible caseless form. What is folded twice is stable: a fold can make something composable."""
    if text.isascii():
        return text.casefold()
    folded = _IGNORED.sub("", text)
    for _ in range(2):
        caseless = unicodedata.normalize("NFKC", folded).casefold()
        folded = unicodedata.normalize("NFKC", caseless.replace(_DOTTED_I, "i"))
    return folded


def _words(folded: str) -> Iterator[str]:
    for match in _RUN.finditer(folded):
        run = match.group()
        if match.lastgroup == "unspaced":
            yield from _pairs(run)
        elif run.isalnum():  # most words: this alone halves the time of a text
            yield run
        else:
            yield from _with_joined(run)


def _with_joined(compound: str) -> Iterator[str]:
    """Yield the parts, what is joined tightly (``-``, ``_``, ``.``) as one word, and the whole as one.

    So ``SKU-4711`` is one word in ``SKU-4711/SKU-4712``, too, and ``example.com`` in an address.
    """
    parts: list[str] = []
    groups = _LOOSE.split(compound)
    for group in groups:
        tight = _SIGNS.split(group)
        yield from tight
        if 1 < len(tight) <= MAX_JOINED_PARTS:
            yield "".join(tight)
        parts += tight
    if len(groups) > 1 and len(parts) <= MAX_JOINED_PARTS:
        yield "".join(parts)


def _pairs(run: str) -> list[str]:
    """Return each character with the next one, marks belonging to what they stand on; one alone as it is."""
    letters = _LETTER.findall(run)
    return [a + b for a, b in pairwise(letters)] or letters


def _that_fit(words: list[str]) -> Iterator[str]:
    """Yield the words from the beginning on, up to the first that does not fit."""
    seen: set[str] = set()
    left = MAX_LEXEME_BYTES
    for word in words:
        left -= POSITION_BYTES if word in seen else len(word.encode()) + WORD_BYTES
        if left < 0:
            return
        seen.add(word)
        yield word
