"""Numbers as they are written, in digits or in English words, brought to one key each."""

import re
from decimal import Decimal

from soat.engine import lexicon

_HUNDRED = 100
_GROUPED = re.compile(r"\d{1,3}(?:[,'\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?")
_GROUPED_BY_DOTS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+,\d+")
_SEPARATORS = re.compile("[,'\u00a0\u2009\u202f]")


def number_key(digits: str) -> str:
    """Return the key of a number in ASCII digits: thousands ungrouped, a point for decimals.

    What distinguishes stays: leading zeros (codes), trailing zeros (version 3.10 is not 3.1), several
    points (versions, addresses). "1.000" alone could be one or a thousand and equals only itself.
    """
    if _GROUPED.fullmatch(digits):
        return _SEPARATORS.sub("", digits)
    if _GROUPED_BY_DOTS.fullmatch(digits):
        return digits.replace(".", "").replace(",", ".")
    plain = digits.replace(",", ".")
    return "0" + plain if plain.startswith(".") else plain


def ordinal_key(value: int) -> str:
    """Return the key of a place in an order: "3rd" and "third" are one, and neither is "3"."""
    return f"{value}."


def is_number_word(word: str) -> bool:
    """Tell whether the word is part of an English number."""
    return (
        word in lexicon.UNITS_AND_TEENS
        or word in lexicon.TENS
        or word in lexicon.SCALES
        or word in lexicon.ORDINALS
        or word == "hundred"
    )


class NumeralReader:
    """Reads one number word by word: feed until it refuses.

    ``start`` is the number in digits that the words scale ("2 million"), ``None`` when words begin it.
    """

    def __init__(self, start: Decimal | None = None) -> None:
        self._total = Decimal(0)
        self._group: Decimal | None = start
        self._scale = Decimal(10) ** 18
        self._digits = start is not None
        self._room = Decimal(0 if start is not None else 1000)
        self.ordinal = False

    @property
    def value(self) -> Decimal:
        """The number read so far."""
        return self._total + (self._group or Decimal(0))

    def feed(self, word: str) -> bool:
        """Take the word when it continues the number; tell whether it did."""
        if self.ordinal:
            return False
        if word in lexicon.SCALES or word == "hundred":
            return self._feed_scale(word)
        value = lexicon.UNITS_AND_TEENS.get(word, lexicon.TENS.get(word))
        self.ordinal = value is None and word in lexicon.ORDINALS
        if self.ordinal:
            value = lexicon.ORDINALS[word]
        return value is not None and self._feed_small(Decimal(value), word)

    def _feed_small(self, value: Decimal, word: str) -> bool:
        """Add a number below a hundred where there is room: after nothing, after hundreds, a digit after tens."""
        if value >= self._room or (value == 0 and self._group is not None):
            self.ordinal = False
            return False
        self._group = (self._group or Decimal(0)) + value
        self._room = Decimal(10 if word in lexicon.TENS else 0)
        return True

    def _feed_scale(self, word: str) -> bool:
        if self._group is None or self._group == 0:
            return False
        if word == "hundred":
            if self._group >= _HUNDRED or self._digits:
                return False
            self._group *= _HUNDRED
            self._room = Decimal(_HUNDRED)
            return True
        scale = Decimal(lexicon.SCALES[word])
        if scale >= self._scale:
            return False
        self._total += self._group * scale
        self._group = None
        self._scale = scale
        self._room = Decimal(0 if self._digits else 1000)
        return True


def value_key(value: Decimal, ordinal: bool) -> str:
    """Return the key of a number that was read from words."""
    whole = value == value.to_integral_value()
    if ordinal:
        return ordinal_key(int(value))
    return str(int(value)) if whole else format(value.normalize(), "f")
