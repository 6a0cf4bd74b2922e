"""The guard's reading of a text: a sequence of tokens in which only what cannot carry a fact is evened out.

What is not named as meaningless here stays a token, so that an unknown sign can never be lost.
"""

import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum

import regex

from soat.engine import lexicon
from soat.engine.numerals import number_key, ordinal_key

PAUSE = "\n"
"""The key of a sentence's end inside a text, and of a pause after a negation; no sign of a text can have it."""


class FactKind(StrEnum):
    """What a difference between two texts is about."""

    QUESTION = "question"
    NUMBER = "number"
    DATE = "date"
    UNIT = "unit"
    NEGATION = "negation"
    MODALITY = "modality"
    NAME = "name"
    ORDER = "order"
    WORDING = "wording"


@dataclass(frozen=True, slots=True)
class Token:
    """One unit of meaning.

    ``key`` is what is compared, ``surface`` what stood there. ``glued``: a hyphen, and nothing else, stands
    before it. ``initial``: it begins a sentence. ``attached``: no space follows it.
    """

    key: str
    kind: FactKind
    surface: str
    glued: bool = False
    initial: bool = False
    attached: bool = False


_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc]"
_LETTER = rf"(?:(?!{_CJK})[\p{{L}}_])"
_WORD_PART = rf"(?:(?!{_CJK})[\p{{L}}\p{{M}}\p{{N}}_])"
_PATTERN = regex.compile(
    rf"""
      (?P<address>(?:https?://|www\.)[^\s<>"]*[^\s<>".,;:!?)\]'] | (?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+)
    | (?P<emoticon>(?<!\S)[:;=]['-]?[()\[\]{{}}DPO/\\|]+(?!\S))
    | (?P<iso>(?<!\d)[12]\d{{3}}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?![\d-]))
    | (?P<clock>(?<!\d)\d{{1,2}}:\d\d(?::\d\d)?(?!\d))
    | (?P<ordinal>\d+(?:st|nd|rd|th)(?!{_WORD_PART}))
    | (?P<acronym>{_LETTER}(?:\.{_LETTER})+(?!{_WORD_PART}))
    | (?P<cjk>{_CJK}\p{{M}}*)
    | (?P<word>{_LETTER}{_WORD_PART}*(?:[.'](?={_WORD_PART}){_WORD_PART}+)*)
    | (?P<version>\d+(?:\.\d+){{2,}}(?!,?\d))
    | (?P<code>\d+{_LETTER}+\d{_WORD_PART}*)
    | (?P<number>
          \d{{1,3}}(?:[,'\u00a0\u2009\u202f]\d{{3}})+(?!\d)(?:\.\d+)?
        | \d{{1,3}}(?:\.\d{{3}})+,\d+
        | (?<!\d,)\d+,\d+(?!,?\d)
        | \d*\.?\d+
      )
    | (?P<sign>\S)
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_EMPHASIS = regex.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", regex.DOTALL)

# Invisible signs without meaning: soft hyphen, zero-width space, byte order mark, direction marks, emoji selectors.
_IGNORABLE = dict.fromkeys(
    [0xAD, 0x200B, 0xFEFF, 0xFE0E, 0xFE0F, 0x61C, *range(0x200E, 0x2010), *range(0x202A, 0x202F)]
)
_EVENED = (
    _IGNORABLE
    | {0xFF01 + offset: 0x21 + offset for offset in range(0x5E)}
    | dict.fromkeys([0x2018, 0x2019, 0x201A, 0x02BC], "'")
    | dict.fromkeys([0x201C, 0x201D, 0x201E, 0xAB, 0xBB], '"')
    | dict.fromkeys([0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212], "-")
    | {0x3000: " ", 0x66B: ".", 0x66C: ",", 0x61F: "?", 0x3002: ".", 0x2026: "."}
)
_NUMBER_NEXT = regex.compile(r"\s*[$€£¥₹]?\.?\d")
_BRACKETED_NUMBER = regex.compile(r"\([\d.,]++\)")
_PAUSES = frozenset(".,;:!?")
_FULL_PAUSES = frozenset(".;!?")
_NOTHING_LEFT = regex.compile(r"\s*+\Z")
_SENTENCE_ENDS = frozenset(".!?:")
_KEPT_PUNCTUATION = frozenset("%&#@/\\*†‡‰§¶")


def even_out(text: str) -> str:
    """Return the text in NFC with width, digits of other scripts, quotes and dashes in their ASCII form."""
    evened = unicodedata.normalize("NFC", text).translate(_EVENED)
    if not evened.isascii():
        evened = "".join(_ascii_digit(char) for char in evened)
    return str(_EMPHASIS.sub(r"\1", evened))


def _ascii_digit(char: str) -> str:
    value = unicodedata.decimal(char, None)
    return char if value is None else str(value)


def read_tokens(evened: str) -> list[Token]:
    """Return the tokens of an evened text; punctuation that carries nothing is gone."""
    tokens: list[Token] = []
    glued = False
    initial = True
    for match in _PATTERN.finditer(evened):
        start, end = match.span()
        attached = end < len(evened) and not evened[end].isspace()
        if match.lastgroup == "sign":
            previous = tokens[-1] if tokens else None
            glued = match.group() == "-" and _between_words(evened, start)
            initial = initial or (match.group() in _SENTENCE_ENDS and not _abbreviates(previous))
            key = _sign_key(evened, start, previous)
            if key is not None:
                tokens.append(Token(key, _sign_kind(key, evened, end), match.group(), attached=attached))
                initial = initial and key == PAUSE
            continue
        found = _word_tokens(str(match.lastgroup), match.group(), initial)
        found[0] = replace(found[0], glued=glued, initial=initial)
        found[-1] = replace(found[-1], attached=attached)
        tokens += found
        glued = initial = False
    while tokens and tokens[-1].key == PAUSE:
        tokens.pop()
    return tokens


def _between_words(evened: str, at: int) -> bool:
    return 0 < at < len(evened) - 1 and evened[at - 1].isalnum() and evened[at + 1].isalnum()


def _sign_key(evened: str, at: int, previous: Token | None) -> str | None:
    """Return the key of a sign, ``None`` for one that carries nothing where it stands."""
    char = evened[at]
    before = evened[at - 1] if at else " "
    after = evened[at + 1] if at + 1 < len(evened) else " "
    if char == "-":
        return _dash_key(evened, at, before, after)
    if char in "\"'":
        return char if before.isdecimal() else None
    category = unicodedata.category(char)
    if category == "Pd" or char == ":":
        kept = before.isdecimal() and after.isdecimal()
    elif char == ".":
        kept = after.isalpha() and after.isascii() and before.isspace()
    elif char == "!":
        factorial = before.isdecimal() and _NOTHING_LEFT.match(evened, at + 1) is None
        kept = after == "=" or (after.isascii() and after.isalnum()) or factorial
    else:
        # "(500)" is a loss in a ledger.
        negative = char == "(" and _BRACKETED_NUMBER.match(evened, at) is not None
        kept = negative or char in _KEPT_PUNCTUATION or (category[0] != "P" and char != "`")
    if kept:
        return lexicon.RESPELLED.get(char, char)
    return PAUSE if char in _PAUSES and _pauses(char, after, previous) else None


def _pauses(char: str, after: str, previous: Token | None) -> bool:
    """Tell whether a sign keeps apart what stands around it.

    The end of a sentence does ("Alice left Bob. Carol stayed", "Alice left. Bob, Carol stayed"), and
    any sign that ends what a negation denies ("No, he will come", "No he will come").
    """
    if previous is None or previous.key == PAUSE:
        return False
    if previous.kind is FactKind.NEGATION:
        return True
    return char in _FULL_PAUSES and not after.isalnum() and not _abbreviates(previous)


def _abbreviates(previous: Token | None) -> bool:
    return previous is not None and previous.key in lexicon.ABBREVIATED


def _dash_key(evened: str, at: int, before: str, after: str) -> str | None:
    """Keep a dash that is a sign, a range, part of a grade or an option; drop a joiner and a pause.

    "-5", "- 5", "5-10", "A-", "-v" keep it, "long-term" and "Berlin - a city" do not; "30-odd people" does.
    """
    left, right = before.isalnum(), after.isalnum()
    if left and right:
        kept = (before.isdecimal() and after.isdecimal()) or evened.startswith("odd", at + 1)
    else:
        kept = left != right or _NUMBER_NEXT.match(evened, at + 1) is not None
    return "-" if kept else None


def _sign_kind(key: str, evened: str, end: int) -> FactKind:
    if key == PAUSE:
        return FactKind.NEGATION
    if key in "%\"'" or key in lexicon.CURRENCIES:
        return FactKind.UNIT
    before_number = key in "-:" and _NUMBER_NEXT.match(evened, end) is not None
    if before_number or key == "!" or unicodedata.category(key[0])[0] == "N":
        return FactKind.NUMBER
    return FactKind.WORDING


def _word_tokens(group: str, surface: str, initial: bool) -> list[Token]:
    """Return the tokens of one match, at least one; contractions make two."""
    lower = surface.lower()
    if group == "word":
        return [Token(key, _word_kind(key, surface, initial), surface) for key in _expanded(lower)]
    key, kind = lower, FactKind.NAME
    if group in ("number", "version"):
        key, kind = number_key(surface), FactKind.NUMBER
    elif group == "ordinal":
        key, kind = ordinal_key(int(lower[:-2])), FactKind.NUMBER
    elif group in ("iso", "clock"):
        kind = FactKind.DATE
    elif group in ("cjk", "emoticon"):
        key, kind = surface, FactKind.NEGATION if surface in lexicon.CJK_NEGATIONS else FactKind.WORDING
    elif group == "acronym":
        key = lexicon.RESPELLED.get(lower, lower)
        kind = FactKind.DATE if key in lexicon.DATE_WORDS else FactKind.NAME
    elif group == "address":
        key = surface
    return [Token(key, kind, surface)]


def _expanded(word: str) -> list[str]:
    """Return the words of a contraction; a possessive keeps its sign as a word of its own."""
    if word in lexicon.RESPELLED:
        return lexicon.RESPELLED[word].split()
    if word in lexicon.NEGATIONS:
        return [word]
    for suffix, meaning in lexicon.CONTRACTED.items():
        if word.endswith(suffix) and len(word) > len(suffix):
            return [word[: -len(suffix)], meaning]
    if word.endswith("'s") and len(word) > len("'s"):
        return [word[:-2], "'s"]
    return [word]


def _word_kind(key: str, surface: str, initial: bool) -> FactKind:
    if key in lexicon.NEGATIONS:
        return FactKind.NEGATION
    if key in lexicon.UNIT_WORDS:
        return FactKind.UNIT
    name = _is_name(surface, initial)
    # "May" inside a sentence is the month.
    if key in lexicon.MODALS and not name:
        return FactKind.MODALITY
    if key in lexicon.DATE_WORDS:
        return FactKind.DATE
    return FactKind.NAME if name else FactKind.WORDING


def _is_name(surface: str, initial: bool) -> bool:
    if surface == "I" or surface.startswith("I'"):
        return False
    if "." in surface or any(char.isdecimal() for char in surface):
        return True
    return surface[0].isupper() and (not initial or (len(surface) > 1 and surface.isupper()))
