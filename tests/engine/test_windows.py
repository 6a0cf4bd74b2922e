"""Embedding windows: each fits the model, together they are the text."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.engine.windows import TextWindow, embedding_windows


def words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def pieces(text: str) -> list[tuple[int, int]]:
    """Up to three characters a token, as subwords; a cut inside a word changes how the rest is read."""
    return [match.span() for match in re.finditer(r"\w{1,3}|[^\w\s]", text)]


def bytes_(text: str) -> list[tuple[int, int]]:
    """A token for each byte: several tokens of one character share its offsets."""
    return [(at, at + 1) for at, char in enumerate(text) for _ in char.encode()]


@pytest.mark.parametrize("tokenizer", [words, pieces])
def test_a_text_that_fits_is_one_window(tokenizer: type) -> None:
    assert embedding_windows("one two", 8, words) == [TextWindow(0, 7)]
    assert embedding_windows("", 8, words) == []
    assert embedding_windows(" \n ", 8, words) == [TextWindow(0, 3)]


def test_windows_end_with_sentences_and_overlap() -> None:
    text = "".join(f"This is the sentence number {number} of a text. " for number in range(40))
    windows = embedding_windows(text, 64, words)
    assert len(windows) > 5
    assert all(text[: window.end].endswith(". ") for window in windows)
    assert all(later.start < earlier.end for earlier, later in itertools.pairwise(windows))
    assert len(words(text[windows[0].start : windows[0].end])) > 32


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        embedding_windows("a", 0, words)


@given(
    st.text(st.sampled_from(["a", "b", " ", "\n", ".", "é", "\U0001f468", "文", "\u0301"]), max_size=80),
    st.integers(1, 20),
    st.sampled_from([words, pieces, bytes_]),
)
def test_windows_cover_the_text_and_fit(text: str, max_tokens: int, tokenizer: object) -> None:
    assert callable(tokenizer)
    windows = embedding_windows(text, max_tokens, tokenizer)
    covered: set[int] = set()
    for window in windows:
        assert len(tokenizer(text[window.start : window.end])) <= max_tokens or window.end - window.start == 1
        covered |= set(range(window.start, window.end))
    assert covered == set(range(len(text)))
    assert all(later.end > earlier.end for earlier, later in itertools.pairwise(windows))


def test_a_long_text_is_tokenised_about_twice() -> None:
    counted = 0

    def counting(text: str) -> list[tuple[int, int]]:
        nonlocal counted
        counted += len(text)
        return words(text)

    text = "some words of a long text " * 4000
    embedding_windows(text, 256, counting)
    assert counted < 3 * len(text)
