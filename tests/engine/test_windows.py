"""Where long texts are cut."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soat.engine.windows import Span, character_windows, halves, token_windows


def words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def pieces(text: str, windows: list[Span]) -> list[str]:
    return [text[start:end] for start, end in windows]


def assert_covers(text: str, windows: list[Span]) -> None:
    assert windows[0].start == 0
    assert windows[-1].end == len(text)
    for one, following in pairwise(windows):
        assert one.start < following.start <= one.end < following.end


def test_a_text_that_fits_is_one_window_with_its_margins() -> None:
    assert token_windows("  two words ", words("  two words "), limit=2, overlap=0) == [(0, 12)]
    assert character_windows("", limit=5, overlap=0) == [(0, 0)]


def test_windows_are_of_similar_size_and_not_a_full_one_with_a_crumb() -> None:
    text = " ".join(["word"] * 105)
    sizes = [len(words(piece)) for piece in pieces(text, token_windows(text, words(text), limit=100, overlap=10))]
    assert sizes == [58, 57]


def test_a_window_ends_at_a_sentence_where_one_is_near() -> None:
    text = "a b c d e f g h i. j k l m n o p q r s"
    first, *_ = pieces(text, token_windows(text, words(text), limit=12, overlap=2))
    assert first == "a b c d e f g h i. "


@pytest.mark.parametrize("end", ["!", "?", "。", ".”", ".)", "\n"])
def test_what_counts_as_the_end_of_a_sentence(end: str) -> None:
    text = f"a b c d e f g h i{end} j k l m n o p q r s"
    first, *_ = pieces(text, token_windows(text, words(text), limit=12, overlap=2))
    assert first.rstrip() == f"a b c d e f g h i{end}".rstrip()


def test_an_overlap_starts_at_a_word() -> None:
    text = "abcdefghij " * 20
    windows = character_windows(text, limit=60, overlap=14)
    assert_covers(text, windows)
    for one, following in pairwise(windows):
        assert text[following.start] == "a"
        assert one.end - following.start >= 11


def test_tokens_that_share_a_character_are_not_parted() -> None:
    text = "각" * 30
    offsets = [(place, place + 1) for place in range(30) for _ in range(3)]
    windows = token_windows(text, offsets, limit=20, overlap=4)
    assert_covers(text, windows)
    assert all(3 * (end - start) <= 20 for start, end in windows)


def test_text_without_any_boundary_is_cut_all_the_same() -> None:
    text = "x" * 1_000
    windows = character_windows(text, limit=64, overlap=8)
    assert_covers(text, windows)
    assert all(end - start <= 64 for start, end in windows)


def test_a_long_run_of_blanks_costs_no_more_than_its_length() -> None:
    text = "a" + " " * 200_000 + "b"
    assert_covers(text, character_windows(text, limit=5_000, overlap=500))
    assert "".join(halves(text)) == text


@pytest.mark.parametrize("text", ["ab", "abc", "one two", "A sentence. Another one, longer.", "x" * 99])
def test_halves_hold_the_text_and_are_never_empty(text: str) -> None:
    left, right = halves(text)
    assert left + right == text
    assert left
    assert right


def test_halves_part_at_a_word() -> None:
    assert halves("some words and more words") == ("some words ", "and more words")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab .\n\u0301가", max_size=300), st.integers(5, 40), st.integers(0, 9))
def test_any_text_is_covered_by_windows_that_fit(text: str, limit: int, overlap: int) -> None:
    windows = character_windows(text, limit=limit, overlap=min(overlap, (limit - 1) // 4))
    assert_covers(text, windows)
    assert all(end - start <= limit for start, end in windows)
