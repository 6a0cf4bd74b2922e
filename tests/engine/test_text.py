"""Text hygiene and the identity of exact restatements."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.engine.text import (
    TextFault,
    TextRefused,
    clean_fact,
    content_hash,
    is_blank,
    normalise_for_hash,
    strip_nul,
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("  Alice likes tea. \n", "Alice likes tea."),
        ("Cafe\u0301", "Café"),
        ("two  spaces", "two  spaces"),
        ("\u3000日本\u3000", "日本"),
    ],
)
def test_clean_fact(text: str, clean: str) -> None:
    assert clean_fact(text) == clean


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", TextFault.EMPTY),
        (" \t\n", TextFault.EMPTY),
        ("\u200b\ufeff", TextFault.EMPTY),
        ("\x01", TextFault.EMPTY),
        ("a\0b", TextFault.NUL),
        ("a\ud800", TextFault.SURROGATE),
        ("\udc00a", TextFault.SURROGATE),
    ],
)
def test_clean_fact_refuses(text: str, reason: TextFault) -> None:
    with pytest.raises(TextRefused) as refusal:
        clean_fact(text)
    assert refusal.value.reason is reason


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a\0b", "ab"),
        ("a\ud83d\ude00b", "a😀b"),
        ("a\ud83db", "a\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("plain", "plain"),
    ],
)
def test_strip_nul(text: str, stored: str) -> None:
    assert strip_nul(text) == stored
    stored.encode()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Alice likes tea.", "alice likes tea"),
        ("Alice likes tea.", "ALICE  LIKES\nTEA !"),
        ("Alice likes tea…", "Alice likes tea..."),
        ("他喜欢茶。", "他喜欢茶"),
        ("Café", "Cafe\u0301."),
        ("STRASSE", "straße"),
        ("Does Alice like tea?", "does alice like tea ?!"),
        ('Bob said "yes".', 'Bob said "yes."'),
        ("Bob said “yes”.", "bob said “yes”"),
        ("Er sagte „ja“.", "er sagte „ja“"),
        ("彼は「はい」。", "彼は「はい」"),
    ],
)
def test_exact_restatements_share_a_hash(left: str, right: str) -> None:
    assert content_hash(left) == content_hash(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The value is -5", "The value is 5"),
        ("Bob writes C++", "Bob writes C"),
        ("Bob writes C#", "Bob writes C"),
        ("The rate is 100%", "The rate is 100"),
        ("Alice likes tea.", "Alice likes tea?"),
        ("The pipe is 12'", 'The pipe is 12"'),
        ("The pipe is 12'", "The pipe is 12"),
        ("The solution is f'", "The solution is f"),
        ("The solution is f''", "The solution is f'''"),
        ("No, he will come", "No he will come"),
        ("1.5", "15"),
        (".5", "5"),
        ("!", "?"),
        ("Τρώει κρέας;", "Τρώει κρέας"),
        ("ice cream", "icecream"),
        ("2⁵", "25"),
    ],
)
def test_other_facts_have_another_hash(left: str, right: str) -> None:
    assert content_hash(left) != content_hash(right)


@given(st.text())
def test_normalisation_is_idempotent_up_to_form(text: str) -> None:
    once = normalise_for_hash(text)
    assert normalise_for_hash(once) == once
    assert content_hash(unicodedata.normalize("NFD", text)) == content_hash(text)


@given(st.text())
def test_cleaning_is_idempotent_and_keeps_the_hash(text: str) -> None:
    try:
        clean = clean_fact(text)
    except TextRefused as refusal:
        assert refusal.reason is TextFault.NUL or is_blank(text)  # noqa: PT017
        return
    assert clean_fact(clean) == clean
    assert content_hash(clean) == content_hash(text)


def test_the_hash_is_the_same_in_every_process() -> None:
    code = "from soat.engine.text import content_hash; print(content_hash('Alice likes tea.'))"
    seeds = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    ]
    assert {run.stdout.strip() for run in seeds} == {content_hash("alice likes tea")}
    assert len(content_hash("x")) == 64


def test_a_tail_of_punctuation_costs_no_more_than_its_length() -> None:
    assert normalise_for_hash("a 'b" + "'" * 50_000) == "a 'b"
    assert normalise_for_hash("a" + "'" * 50_000) == "a" + "'" * 50_000
