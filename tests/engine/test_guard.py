"""The guard against its labelled pairs, and its general properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.engine.guard import FactKind, case_difference, fact_difference
from soat.engine.text import content_hash
from tests.engine.fact_pairs import CHANGED, PARAPHRASED, RESTATED, Pair


def _id(pair: Pair) -> str:
    return f"{pair.left} / {pair.right}"


def test_the_set_is_large_enough() -> None:
    assert len(CHANGED) + len(RESTATED) + len(PARAPHRASED) >= 120


@pytest.mark.parametrize("pair", CHANGED, ids=_id)
def test_a_changed_fact_is_never_let_through(pair: Pair) -> None:
    difference = fact_difference(pair.left, pair.right)
    assert difference is not None
    assert difference.kind is pair.kind
    mirrored = fact_difference(pair.right, pair.left)
    assert mirrored is not None
    assert (mirrored.kind, mirrored.left, mirrored.right) == (difference.kind, difference.right, difference.left)


@pytest.mark.parametrize("pair", RESTATED, ids=_id)
def test_a_restatement_in_another_form_passes(pair: Pair) -> None:
    assert fact_difference(pair.left, pair.right) is None
    assert fact_difference(pair.right, pair.left) is None


def test_missed_restatements_are_only_paraphrases() -> None:
    restatements = RESTATED + PARAPHRASED
    missed = [pair for pair in restatements if fact_difference(pair.left, pair.right) is not None]
    assert len(missed) <= len(PARAPHRASED), f"{len(missed)} of {len(restatements)} restatements missed: {missed}"


def test_a_changed_fact_has_another_hash() -> None:
    """But for the case of a unit, which hashes fold away by their definition: the decision looks at it apart."""
    equal = [pair for pair in CHANGED if content_hash(pair.left) == content_hash(pair.right)]
    assert all(case_difference(pair.left, pair.right) is not None for pair in equal), equal


def test_a_difference_shows_both_sides() -> None:
    difference = fact_difference("Bob has two cats.", "Bob has 3 cats.")
    assert difference is not None
    assert (difference.kind, difference.left, difference.right) == (FactKind.NUMBER, "two", "3")


@pytest.mark.parametrize("text", ["100 mb", "THE FILE HAS 100 MB", "a 5 mg pill"])
def test_the_case_of_a_unit_counts_only_where_it_was_chosen(text: str) -> None:
    assert case_difference(text, text.lower()) is None


@given(st.text(max_size=60))
def test_a_text_says_the_same_as_itself(text: str) -> None:
    assert fact_difference(text, text) is None


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_answer_does_not_depend_on_the_side(left: str, right: str) -> None:
    assert (fact_difference(left, right) is None) == (fact_difference(right, left) is None)


_WORDS = st.sampled_from(
    [
        "alice",
        "bob",
        "7",
        "seven",
        "not",
        "no",
        "is",
        "the",
        "a",
        ",",
        "-",
        "!",
        "1st",
        "hundred",
        "$",
        "%",
        "3",
        "March",
        "km",
    ]
)


@given(
    st.lists(_WORDS, min_size=2, max_size=8),
    st.sampled_from(["42", "never", "Carol", "км", "酒", "🙂", "<"]),
    st.data(),
)
def test_a_word_more_is_always_a_difference(words: list[str], word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words)))
    longer = [*words[:at], word, *words[at:]]
    assert fact_difference(" ".join(words), " ".join(longer)) is not None


def test_a_long_text_costs_no_more_than_its_length() -> None:
    for noise in ("a.", "+-", "5!", "1,", '"', "x@", "http://", "1.", "- "):
        assert fact_difference(noise * 20_000, noise * 20_000) is None
