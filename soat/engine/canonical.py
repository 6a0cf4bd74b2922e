"""The guard's evening-out of tokens: numbers, articles, dates, units. Each pass maps a token list to a token list."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from soat.engine import lexicon
from soat.engine.numerals import NumeralReader, is_number_word, value_key
from soat.engine.tokens import FactKind, Token, even_out, read_tokens

_MAX_DAY = 31
_YEARS = range(1000, 3000)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the guard compares.

    The text, its tokens in order, how many questions it asks, and how many double quotes stand in
    it when they decide who speaks ('Bob said "I am ill"').
    """

    text: str
    tokens: tuple[Token, ...]
    questions: int
    speech: int

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys in order: two texts with equal keys say the same. A text of punctuation alone is its own key."""
        return tuple(token.key for token in self.tokens) or (self.text,)


def read_facts(text: str) -> Facts:
    """Return what a text says, in the form that the guard compares."""
    evened = even_out(text)
    tokens = read_tokens(evened)
    surely = _has_english(tokens)
    if surely or _maybe_english(tokens):
        tokens = _with_numerals(_joined_no_one(tokens))
    if surely:
        tokens = _without_fillers(_without_articles(_without_opening(tokens)))
    tokens = _with_units(_with_currencies(_with_dates(tokens)))
    speaks = any(token.surface.lower() in lexicon.SPEAKERS for token in tokens)
    speech = evened.count('"') if speaks else 0
    return Facts(text=evened, tokens=tuple(tokens), questions=evened.count("?"), speech=speech)


def _has_english(tokens: Sequence[Token]) -> bool:
    """Tell whether the text is English beyond doubt: only there is "a" an article (in Spanish it marks who suffers)."""
    return any(token.key in lexicon.ENGLISH for token in tokens)


def _maybe_english(tokens: Sequence[Token]) -> bool:
    """Tell whether English number words may be read as such ("four" is an oven in French, "ten" is this in Polish)."""
    words = {token.key for token in tokens}
    return not words.isdisjoint(lexicon.MAYBE_ENGLISH) and words.isdisjoint(lexicon.FOREIGN)


def _without_opening(tokens: list[Token]) -> list[Token]:
    for opening in lexicon.OPENINGS:
        if tuple(token.key for token in tokens[: len(opening)]) == opening and len(tokens) > len(opening):
            return tokens[len(opening) :]
    return tokens


def _joined_no_one(tokens: list[Token]) -> list[Token]:
    """Read "no one" as one word, lest it become the number of "No. 1"."""
    joined: list[Token] = []
    for token in tokens:
        if token.key == "one" and joined and joined[-1].key == "no":
            joined[-1] = replace(joined[-1], key="no-one", attached=token.attached)
        else:
            joined.append(token)
    return joined


def _with_numerals(tokens: list[Token]) -> list[Token]:
    """Replace numbers in words by their value: "two" is "2", "2 million" is "2000000", "a hundred" is "100"."""
    read: list[Token] = []
    at = 0
    while at < len(tokens):
        token, used = _numeral_at(tokens, at)
        read.append(token)
        at += used
    return read


def _numeral_at(tokens: Sequence[Token], at: int) -> tuple[Token, int]:
    """Return the token that stands for ``tokens[at:]``'s beginning, and how many tokens it stands for."""
    first = tokens[at]
    reader, used = _reader_at(tokens, at)
    # After a number "second" is the unit of time.
    if reader is None or (first.key == "second" and at > 0 and tokens[at - 1].kind is FactKind.NUMBER):
        return first, 1
    end = at + used
    while end < len(tokens):
        skip = 1 if tokens[end].key == "and" and _and_counts(tokens, end) else 0
        following = tokens[end + skip]
        # "twenty-second" is a place, "twenty second" may be a time.
        if (following.key in lexicon.ORDINALS and not following.glued) or not reader.feed(following.key):
            break
        end += skip + 1
    if end - at > 1 and _ambiguous_joint(tokens, at, end):
        reader, used = _reader_at(tokens, at)
        end = at + used
    if reader is None or (first.kind is FactKind.NUMBER and end == at + 1):
        return first, 1
    surface = " ".join(token.surface for token in tokens[at:end])
    key = value_key(reader.value, reader.ordinal)
    return replace(tokens[end - 1], key=key, kind=FactKind.NUMBER, surface=surface, glued=first.glued), end - at


def _reader_at(tokens: Sequence[Token], at: int) -> tuple[NumeralReader | None, int]:
    """Return a reader that has taken the number's first word, and the tokens it took; ``None`` for no number."""
    first = tokens[at]
    following = tokens[at + 1].key if at + 1 < len(tokens) else ""
    if first.kind is FactKind.NUMBER and first.key.replace(".", "", 1).isdecimal() and not first.key.endswith("."):
        return NumeralReader(Decimal(first.key)), 1
    if first.key == "a" and (following == "hundred" or following in lexicon.SCALES):
        reader = NumeralReader()
        reader.feed("one")
        reader.feed(following)
        return reader, 2
    reader = NumeralReader()
    return (reader, 1) if is_number_word(first.key) and reader.feed(first.key) else (None, 1)


def _and_counts(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether an "and" stands inside a number: "a hundred and five", never "two and three"."""
    before = tokens[at - 1].key
    inside = before == "hundred" or before in lexicon.SCALES
    return inside and at + 1 < len(tokens) and is_number_word(tokens[at + 1].key)


def _ambiguous_joint(tokens: Sequence[Token], at: int, end: int) -> bool:
    """Tell whether a hyphen after the number pulls its last word away, as in "twenty one-year-olds"."""
    pulled = end < len(tokens) and tokens[end].glued
    return pulled and not all(token.glued for token in tokens[at + 1 : end])


def _without_articles(tokens: list[Token]) -> list[Token]:
    return [token for at, token in enumerate(tokens) if not _is_article(tokens, at)]


def _is_article(tokens: Sequence[Token], at: int) -> bool:
    """Tell whether a token is an article that carries nothing.

    Not so: a capital inside a sentence (part of a name), a letter that labels ("vitamin a"), a quantity
    ("a few" is not "few"), a place ("a third" is not "the third"), one that something is attached to ("A$").
    """
    token = tokens[at]
    if token.key not in lexicon.ARTICLES or token.attached or at + 1 == len(tokens):
        return False
    if token.surface[0].isupper() and not token.initial:
        return False
    if token.key == "the":
        return True
    following = tokens[at + 1]
    labelled = at > 0 and tokens[at - 1].key in lexicon.LABELLED
    place = following.kind is FactKind.NUMBER and following.key.endswith(".")
    return not (labelled or place or token.glued or following.key in lexicon.COUNTED_BY_A)


def _without_fillers(tokens: list[Token]) -> list[Token]:
    """Drop fillers, but where something is denied: "not actually", "not also" say more than "not"."""
    if any(token.kind is FactKind.NEGATION for token in tokens):
        return tokens
    return [token for token in tokens if token.key not in lexicon.FILLERS]


def _with_dates(tokens: list[Token]) -> list[Token]:
    """Make one token of a day, its month and a year: "3 March 2024", "March 3rd, 2024", "2024-03-03"."""
    read: list[Token] = []
    at = 0
    while at < len(tokens):
        used, month, day = _day_month(tokens, at)
        if not used:
            read.append(tokens[at])
            at += 1
            continue
        year = _year(tokens, at + used)
        end = at + used + (1 if year else 0)
        surface = " ".join(token.surface for token in tokens[at:end])
        key = f"{year or '----'}-{month:02}-{day:02}"
        read.append(replace(tokens[at], key=key, kind=FactKind.DATE, surface=surface))
        at = end
    return read


def _day_month(tokens: Sequence[Token], at: int) -> tuple[int, int, int]:
    """Return (tokens used, month, day) of a date that begins here; zero used for none."""
    keys = [token.key for token in tokens[at : at + 3]]
    if len(keys) > 1 and (month := _month(keys[0])) and (day := _day(keys[1])):
        return 2, month, day
    if len(keys) > 1 and (day := _day(keys[0])):
        if month := _month(keys[1]):
            return 2, month, day
        if keys[1] == "of" and len(keys) > 2 and (month := _month(keys[2])):  # noqa: PLR2004
            return 3, month, day
    return 0, 0, 0


def _month(key: str) -> int:
    return lexicon.MONTHS.get(key) or lexicon.MONTHS_SHORT.get(key, 0)


def _day(key: str) -> int:
    digits = key.removesuffix(".")
    return int(digits) if digits.isdecimal() and len(digits) <= len("31") and int(digits) <= _MAX_DAY else 0


def _year(tokens: Sequence[Token], at: int) -> str:
    key = tokens[at].key if at < len(tokens) else ""
    return key if key.isdecimal() and int(key) in _YEARS else ""


def _with_currencies(tokens: list[Token]) -> list[Token]:
    """Put the name of a currency after its amount: "$5" is "5 dollars". Round cents vanish."""
    read: list[Token] = []
    for token in tokens:
        if token.key in lexicon.CURRENCIES:
            read.append(replace(token, key=lexicon.CURRENCIES[token.key], kind=FactKind.UNIT))
            continue
        amount = token.kind is FactKind.NUMBER and read and read[-1].surface in lexicon.CURRENCIES and read[-1].attached
        if amount:
            read.insert(len(read) - 1, replace(token, key=token.key.removesuffix(".00")))
        else:
            read.append(token)
    return read


def _with_units(tokens: list[Token]) -> list[Token]:
    """Give a unit after a number its one name: "5km", "5 kilometres"; "%" and "per cent" are "percent"."""
    read: list[Token] = []
    for token in tokens:
        counted = bool(read) and read[-1].kind is FactKind.NUMBER
        if token.key == "%":
            read.append(replace(token, key="percent"))
        elif token.key == "cent" and read and read[-1].key == "per":
            read[-1] = replace(token, key="percent", kind=FactKind.UNIT)
        elif counted and token.key in lexicon.UNIT_KEYS:
            read.append(replace(token, key=lexicon.UNIT_KEYS[token.key], kind=FactKind.UNIT))
        else:
            read.append(token)
    return read
