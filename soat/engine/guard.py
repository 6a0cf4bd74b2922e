"""The guard of the write decision: which fact stands between two similar texts.

Similarity cannot decide alone. Measured with the default model: "contract ends 3 March 2024" / "...2025" .970,
"100" / "1000 requests" .967, "Alice manages Bob" / "Bob manages Alice" .987, "is" / "is not allergic" .961, all
above the duplicate band. So two texts say the same only when they are the same sequence of words and
numbers, once what cannot carry a fact is evened out (case, punctuation, English articles and contractions, how a
number, date or unit is written). Anything else is a difference, also in a language that nobody listed here:
a fact stored twice is a nuisance, a fact lost is a fault.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from soat.engine import lexicon
from soat.engine.canonical import Facts, read_facts
from soat.engine.tokens import FactKind, Token

__all__ = ["FactDifference", "FactKind", "case_difference", "fact_difference"]

# Units whose letters' case is the fact: bits and bytes, milli and mega. All-lower spellings are left out:
# whoever writes "mb" has not said which.
_CASED_UNIT = re.compile(r"(?<=\d)[ -]?([kKMGTP]i?[bB]|[mM](?:Wh?|V|A|J|Hz|Pa|eV|[smgl]))(?![A-Za-z])")
_EDGES = ".,;:!?\u2026\"'()[]{}\u201c\u201d\u2018\u2019\u201e\u00ab\u00bb\u3002\uff01\uff1f"


@dataclass(frozen=True, slots=True)
class FactDifference:
    """A difference that makes two texts two facts; ``left`` and ``right`` show it, empty where one lacks it."""

    kind: FactKind
    left: str
    right: str


Check = Callable[[Facts, Facts], FactDifference | None]


def fact_difference(left: str, right: str) -> FactDifference | None:
    """Name the first fact-bearing difference of two texts, ``None`` when they say the same.

    In doubt there is one. Symmetric, but for the sides of the answer.
    """
    case = case_difference(left, right)
    if case is not None:
        return case
    first, second = read_facts(left), read_facts(right)
    if (first.keys, first.questions, first.speech) == (second.keys, second.questions, second.speech):
        return None
    for check in _CHECKS:
        difference = check(first, second)
        if difference is not None:
            return difference
    return _wording(first, second)


def case_difference(left: str, right: str) -> FactDifference | None:
    """Find what only its case tells apart, which every other comparison, hashes included, folds away.

    Units ("100 Mb", "100 MB"), codes ("key aB3", "key Ab3") and the German "ß", where both texts chose the
    case: a plain lower or upper spelling is nobody's choice.
    """
    units = [_CASED_UNIT.findall(text) for text in (left, right)]
    if units[0] != units[1] and [unit.lower() for unit in units[0]] == [unit.lower() for unit in units[1]]:
        return FactDifference(FactKind.UNIT, " ".join(units[0]), " ".join(units[1]))
    for first, second in zip(_words(left), _words(right), strict=False):
        if first != second and first.lower() == second.lower() and _is_cased_code(first) and _is_cased_code(second):
            return FactDifference(FactKind.NAME, first, second)
        if first.lower() != second.lower() and first.casefold() == second.casefold() and _chose_sharp_s(first, second):
            return FactDifference(FactKind.WORDING, first, second)
    return None


def _words(text: str) -> list[str]:
    return [word.strip(_EDGES) for word in text.split()]


def _chose_sharp_s(first: str, second: str) -> bool:
    """Tell "Maße" from "Masse", which are two words; "MASSE" may be either."""
    return "ß" in first + second and not first.isupper() and not second.isupper()


def _is_cased_code(word: str) -> bool:
    """Tell whether a word is a code with capitals and small letters in a mixture of its own."""
    mixed = any(char.isupper() for char in word[1:]) and any(char.islower() for char in word)
    return mixed and any(char.isdecimal() or char in "/_" for char in word)


def _question(left: Facts, right: Facts) -> FactDifference | None:
    """A question is not the statement that it asks about."""
    if left.questions == right.questions:
        return None
    return FactDifference(FactKind.QUESTION, "?" * left.questions, "?" * right.questions)


def _speech(left: Facts, right: Facts) -> FactDifference | None:
    """Quoted or not, "I" is someone else."""
    if left.keys != right.keys:
        return None
    return FactDifference(FactKind.WORDING, '"' * left.speech, '"' * right.speech)


def _of_kind(kind: FactKind) -> Check:
    """Return the check that compares all tokens of one kind, in order."""

    def check(left: Facts, right: Facts) -> FactDifference | None:
        return _compare(
            kind,
            [token for token in left.tokens if token.kind is kind],
            [token for token in right.tokens if token.kind is kind],
        )

    return check


def _negation(left: Facts, right: Facts) -> FactDifference | None:
    """Negating words, in their order; characters that deny in scripts without spaces; "happy" and "unhappy"."""
    difference = _of_kind(FactKind.NEGATION)(left, right)
    if difference is not None:
        return difference
    for sign in lexicon.CJK_NEGATIONS:
        counts = left.text.count(sign), right.text.count(sign)
        if counts[0] != counts[1]:
            return FactDifference(FactKind.NEGATION, sign * counts[0], sign * counts[1])
    only_left, only_right = _only(left.tokens, right.tokens)
    for first in only_left:
        for second in only_right:
            if _is_negated(first.key, second.key) or _is_negated(second.key, first.key):
                return FactDifference(FactKind.NEGATION, first.surface, second.surface)
    return None


def _is_negated(word: str, base: str) -> bool:
    return any(word == prefix + base for prefix in lexicon.NEGATIVE_PREFIXES)


def _names(left: Facts, right: Facts) -> FactDifference | None:
    """Names and codes, in their order; a word counts as a name in both texts when it is written as one in either."""
    names = {token.key for facts in (left, right) for token in facts.tokens if token.kind is FactKind.NAME}
    return _compare(
        FactKind.NAME,
        [token for token in left.tokens if token.key in names],
        [token for token in right.tokens if token.key in names],
    )


def _order(left: Facts, right: Facts) -> FactDifference | None:
    """The same words in another order: "alice manages bob", "bob manages alice"."""
    if Counter(left.keys) != Counter(right.keys):
        return None
    return FactDifference(FactKind.ORDER, _shown(left.tokens), _shown(right.tokens))


def _wording(left: Facts, right: Facts) -> FactDifference:
    """Any other word: each may be the fact ("tea", "coffee"; "before", "after")."""
    only_left, only_right = _only(left.tokens, right.tokens)
    return FactDifference(FactKind.WORDING, _shown(only_left), _shown(only_right))


_CHECKS: tuple[Check, ...] = (
    _question,
    _of_kind(FactKind.NUMBER),
    _of_kind(FactKind.DATE),
    _of_kind(FactKind.UNIT),
    _negation,
    _of_kind(FactKind.MODALITY),
    _names,
    _speech,
    _order,
)


def _compare(kind: FactKind, left: Sequence[Token], right: Sequence[Token]) -> FactDifference | None:
    """Compare two sequences of tokens; the same ones in another order are a difference of order."""
    if [token.key for token in left] == [token.key for token in right]:
        return None
    only_left, only_right = _only(left, right)
    if not only_left and not only_right:
        return FactDifference(FactKind.ORDER, _shown(left), _shown(right))
    return FactDifference(kind, _shown(only_left), _shown(only_right))


def _only(left: Sequence[Token], right: Sequence[Token]) -> tuple[list[Token], list[Token]]:
    """Return the tokens that one side has more often than the other, in their order."""
    return _surplus(left, right), _surplus(right, left)


def _surplus(tokens: Iterable[Token], others: Iterable[Token]) -> list[Token]:
    left_over = Counter(token.key for token in others)
    surplus: list[Token] = []
    for token in tokens:
        if left_over[token.key] > 0:
            left_over[token.key] -= 1
        else:
            surplus.append(token)
    return surplus


def _shown(tokens: Iterable[Token]) -> str:
    return " ".join(token.surface for token in tokens)
