"""Words as PostgreSQL takes them: whatever the text, it can be stored, and each of its words is found."""

import random

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from soat.engine.lexical import TEXT_SEARCH_CONFIGS, lexical_text
from tests.engine.test_lexical import TRICKY

LENGTH = 100_000
RARE = "ZX-90417/b"

PROSE = "The ferry to Skellan leaves at half past nine, and nobody who has a ticket needs to stand in the queue. "


def chinese(length: int) -> str:
    """Return words of two characters, the n-th most frequent one about 1/n times: as many pairs as in real Chinese."""
    words = random.Random(7)
    known = ["".join(chr(0x4E00 + int(words.triangular(0, 3_500, 0))) for _ in range(2)) for _ in range(5_000)]
    return "".join(words.choices(known, [1 / (1 + rank) for rank in range(len(known))], k=length // 2))


def distinct_words(length: int) -> str:
    """Return short words of two letters of four bytes, no two of them equal."""
    letters = [chr(0x10400 + number) for number in range(0x28, 0x50)] + [chr(0x1E900 + n) for n in range(34, 68)]
    return " ".join(a + b + c for a in letters for b in letters for c in letters)[:length]


WORST = {
    "pairs of characters of four bytes": "".join(
        chr(0x20000 + number * (1 + number // 40_009) % 40_009) for number in range(LENGTH)
    ),
    "short words of four bytes": distinct_words(LENGTH),
    "single letters": " ".join(chr(0x20000 + number % 40_000) for number in range(LENGTH // 2)),
    "numbers": " ".join(map(str, range(LENGTH)))[:LENGTH],
    "compounds": "-".join(map(str, range(LENGTH)))[:LENGTH],
    "compounds of six": " ".join(f"{n}a-{n}b-{n}c-{n}d-{n}e-{n}f" for n in range(LENGTH))[:LENGTH],
    "one word": "x" * LENGTH,
    "one word of four bytes": "\U00010428" * LENGTH,
    "one letter with marks": "a" + "\u0301" * LENGTH,
    "one word again and again": "ab " * (LENGTH // 3),
    "words that are cut": " ".join(f"{n}{'y' * 195}" for n in range(LENGTH // 200)),
    "signs": "-_./:@+#&" * (LENGTH // 9),
    "emoji": "\U0001f469\u200d\U0001f467\ufe0f" * (LENGTH // 4),
    "nothing": "",
}


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    """Give every test the database."""


def taken(text: str, config: str = "simple") -> int:
    """Return how many words PostgreSQL takes of a text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT length(to_tsvector(%s::regconfig, %s))", [config, lexical_text(text)])
        return int(cursor.fetchone()[0])


def finds(word: str, text: str, config: str = "simple") -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT to_tsvector(%(config)s::regconfig, %(text)s) @@ plainto_tsquery(%(config)s::regconfig, %(word)s)",
            {"config": config, "text": lexical_text(text), "word": lexical_text(word)},
        )
        return bool(cursor.fetchone()[0])


def test_the_list_is_the_one_of_the_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT cfgname FROM pg_ts_config WHERE cfgnamespace = 'pg_catalog'::regnamespace")
        assert sorted(TEXT_SEARCH_CONFIGS) == sorted(name for (name,) in cursor.fetchall())


@pytest.mark.parametrize("text", WORST.values(), ids=WORST.keys())
def test_whatever_the_text_it_can_be_stored(text: str) -> None:
    assert taken(text) == len(set(lexical_text(text).split()))


@pytest.mark.parametrize("config", TEXT_SEARCH_CONFIGS)
def test_no_configuration_makes_it_too_long(config: str) -> None:
    for name in ("pairs of characters of four bytes", "short words of four bytes"):
        assert taken(WORST[name], config) > 10_000


@pytest.mark.parametrize("text", [(PROSE * 1_000)[: LENGTH - 12], chinese(LENGTH - 12)], ids=["prose", "chinese"])
@pytest.mark.parametrize("config", ["simple", "english"])
def test_what_stands_at_the_very_end_is_found(text: str, config: str) -> None:
    assert not finds(RARE, text, config)
    assert finds(RARE, f"{text} {RARE}", config)
    assert finds("zx90417B", f"{text} {RARE}", config)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("SKU-4711", "Take (SKU-4711)!"),
        ("4711", "SKU-4711"),
        ("10.0.0.1", "http://10.0.0.1:8080/x"),
        ("example.com", "Write to user@example.com."),
        ("/etc/hosts", "file:///etc/hosts, -5"),
        ("-5", "minus -5.0 degrees"),
        ("e\u0301te\u0301", "L\u2019ÉTÉ"),
        ("東京", "私は東京へ行く"),
        ("SKU-4711", "東京SKU-4711です"),
        ("ISTANBUL", "İstanbul"),
    ],
)
def test_a_part_is_found_beside_whatever_it_stands(word: str, text: str) -> None:
    assert finds(word, text)
    assert not finds(f"{word}9x", text)


class TestAnyText(TestCase):
    """Whatever the text: each of its words is found in it."""

    @settings(max_examples=200, deadline=None)
    @given(st.one_of(TRICKY, st.text(st.characters(codec="utf-8", exclude_characters="\0"))))
    def test_each_word_is_found(self, text: str) -> None:
        for word in text.split():
            if taken(word):
                assert finds(word, text)

    @settings(max_examples=200, deadline=None)
    @given(TRICKY)
    def test_postgresql_sees_the_words_that_we_see(self, text: str) -> None:
        assert taken(text) == len(set(lexical_text(text).split()))
