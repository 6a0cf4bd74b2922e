"""Chunking: true offsets, nothing lost, the seeds' windows."""

import itertools
from collections.abc import Iterator

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from soat.engine import chunk
from soat.engine.chunk import (
    MAX_CHUNK_LENGTH,
    Chunk,
    ChunkConfig,
    ChunkConfigRefused,
    ChunkField,
    ChunkRequest,
    ChunkStrategy,
    Page,
    count_chunks,
    iter_chunks,
    join_pages,
    resolve_config,
)
from soat.engine.graphemes import MAX_CLUSTER

PAGE, WHOLE, SIZE = ChunkStrategy.PAGE, ChunkStrategy.WHOLE, ChunkStrategy.SIZE


def _pages(*texts: str) -> list[Page]:
    return [Page(number, text) for number, text in enumerate(texts, start=1)]


def _windows(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    return [(piece.start, piece.end) for piece in iter_chunks(_pages(text), ChunkConfig(SIZE, size, overlap))]


@pytest.mark.parametrize(
    ("request_", "rule", "default", "config"),
    [
        (None, None, PAGE, ChunkConfig(PAGE)),
        (None, None, SIZE, ChunkConfig(SIZE, 1000, 200)),
        (ChunkRequest(SIZE), None, PAGE, ChunkConfig(SIZE, 1000, 200)),
        (ChunkRequest(SIZE, 500, 50), ChunkRequest(WHOLE, 90, 9), PAGE, ChunkConfig(SIZE, 500, 50)),
        (ChunkRequest(size=500), ChunkRequest(SIZE, 90, 9), PAGE, ChunkConfig(SIZE, 500, 9)),
        (ChunkRequest(WHOLE), ChunkRequest(SIZE, 90, 9), PAGE, ChunkConfig(WHOLE)),
        (None, ChunkRequest(SIZE, 90), PAGE, ChunkConfig(SIZE, 90, 45)),
        (ChunkRequest(SIZE, 400), None, PAGE, ChunkConfig(SIZE, 400, 200)),
        (ChunkRequest(SIZE, 399), None, PAGE, ChunkConfig(SIZE, 399, 199)),
        (ChunkRequest(SIZE, 1), None, PAGE, ChunkConfig(SIZE, 1, 0)),
        (ChunkRequest(SIZE, 10, 0), None, PAGE, ChunkConfig(SIZE, 10, 0)),
        (ChunkRequest(SIZE, MAX_CHUNK_LENGTH), None, PAGE, ChunkConfig(SIZE, MAX_CHUNK_LENGTH, 200)),
        (ChunkRequest(size=100), None, PAGE, ChunkConfig(PAGE)),
    ],
)
def test_resolve_config(
    request_: ChunkRequest | None, rule: ChunkRequest | None, default: ChunkStrategy, config: ChunkConfig
) -> None:
    assert resolve_config(request_, rule, default) == config


@pytest.mark.parametrize(
    ("request_", "rule", "field"),
    [
        (ChunkRequest(SIZE, 0), None, ChunkField.SIZE),
        (ChunkRequest(SIZE, -5), None, ChunkField.SIZE),
        (ChunkRequest(SIZE, MAX_CHUNK_LENGTH + 1), None, ChunkField.SIZE),
        (ChunkRequest(SIZE, 100, 100), None, ChunkField.OVERLAP),
        (ChunkRequest(SIZE, 100, -1), None, ChunkField.OVERLAP),
        (ChunkRequest(SIZE, overlap=1000), None, ChunkField.OVERLAP),
        (ChunkRequest(size=40), ChunkRequest(SIZE, 500, 50), ChunkField.OVERLAP),
        (ChunkRequest(PAGE, 0), None, ChunkField.SIZE),
    ],
)
def test_resolve_config_refuses(request_: ChunkRequest, rule: ChunkRequest | None, field: ChunkField) -> None:
    with pytest.raises(ChunkConfigRefused) as refusal:
        resolve_config(request_, rule, PAGE)
    assert refusal.value.field is field


def test_page_keeps_numbers_and_drops_blank_pages() -> None:
    pages = [Page(1, "one"), Page(3, " \n"), Page(7, "seven")]
    assert list(iter_chunks(pages, ChunkConfig(PAGE))) == [
        Chunk(0, "one", 1, 0, 3),
        Chunk(1, "seven", 7, 7, 12),
    ]


def test_whole_joins_the_pages() -> None:
    assert list(iter_chunks(_pages("a", "", "b"), ChunkConfig(WHOLE))) == [Chunk(0, "a\n\nb", None, 0, 4)]


@pytest.mark.parametrize("strategy", ChunkStrategy)
@pytest.mark.parametrize("texts", [(), ("",), (" ", "\n\u200b")])
def test_a_document_without_text_has_no_chunks(strategy: ChunkStrategy, texts: tuple[str, ...]) -> None:
    assert list(iter_chunks(_pages(*texts), ChunkConfig(strategy, 10, 2))) == []


@pytest.mark.parametrize(
    ("length", "size", "overlap", "windows"),
    [
        (10, 10, 2, [(0, 10)]),
        (11, 10, 2, [(0, 10), (8, 11)]),
        (18, 10, 2, [(0, 10), (8, 18)]),
        (19, 10, 2, [(0, 10), (8, 18), (16, 19)]),
        (6, 3, 0, [(0, 3), (3, 6)]),
        (3, 1, 0, [(0, 1), (1, 2), (2, 3)]),
        (4, 3, 2, [(0, 3), (1, 4)]),
    ],
)
def test_the_last_window_is_the_one_that_reaches_the_end(
    length: int, size: int, overlap: int, windows: list[tuple[int, int]]
) -> None:
    assert _windows("x" * length, size, overlap) == windows


def test_windows_run_over_page_borders() -> None:
    pieces = list(iter_chunks(_pages("abcd", "efgh"), ChunkConfig(SIZE, 5, 1)))
    assert [piece.text for piece in pieces] == ["abcd\n", "\nefgh"]
    assert all(piece.page is None for piece in pieces)


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def test_windows_do_not_cut_a_cluster() -> None:
    assert _windows("ab" + FAMILY + "cd", 4, 0) == [(0, 2), (2, 7), (7, 9)]
    assert _windows("\U0001f1e9\U0001f1ea" * 4, 3, 0) == [(0, 2), (2, 4), (4, 6), (6, 8)]
    assert _windows("e\u0301" * 4, 3, 1) == [(0, 2), (2, 4), (4, 6), (6, 8)]


def test_endless_marks_are_cut_all_the_same() -> None:
    windows = _windows("a" + "\u0301" * 3000, 100, 10)
    assert windows[-1][1] == 3001
    assert max(end - start for start, end in windows) <= MAX_CLUSTER


_TEXT = st.text(
    st.sampled_from(
        ["a", "b", " ", "\n", "\r", ".", "\u0301", "\u200d", "\U0001f468", "\U0001f1e9", "क", "्", "ษ", "한", "ᄀ", "ᅡ"]
    ),
    max_size=60,
)
_CONFIGS = st.one_of(
    st.just(ChunkConfig(PAGE)),
    st.just(ChunkConfig(WHOLE)),
    st.integers(1, 12).flatmap(
        lambda size: st.builds(ChunkConfig, st.just(SIZE), st.just(size), st.integers(0, size - 1))
    ),
)


@settings(max_examples=300)
@given(st.lists(_TEXT, max_size=4), _CONFIGS)
def test_chunks_are_true_slices_and_lose_nothing(texts: list[str], config: ChunkConfig) -> None:
    pages = _pages(*texts)
    joined = join_pages(pages)
    pieces = list(iter_chunks(pages, config))
    covered: set[int] = set()
    for index, piece in enumerate(pieces):
        assert piece.index == index
        assert joined[piece.start : piece.end] == piece.text
        assert piece.text.strip()
        covered |= set(range(piece.start, piece.end))
    missing = {at for at in range(len(joined)) if at not in covered}
    assert "".join(joined[at] for at in sorted(missing)).strip(" \n\r\u200d") == ""
    assert count_chunks(iter(pages), config) == len(pieces)
    assert all(later.start > earlier.start and later.end > earlier.end for earlier, later in itertools.pairwise(pieces))


@settings(max_examples=300)
@given(_TEXT, st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1))))
def test_windows_begin_and_end_between_clusters(text: str, window: tuple[int, int]) -> None:
    size, overlap = window
    boundaries = {0} | {match.end() for match in regex.finditer(r"\X", text)}
    for start, end in _windows(text, size, overlap):
        assert start in boundaries
        assert end in boundaries
        assert end - start <= size or len(regex.findall(r"\X", text[start:end])) == 1


@given(st.lists(st.text("ab\n", max_size=9), max_size=6), st.integers(1, 6))
def test_where_pages_end_does_not_change_the_windows(texts: list[str], size: int) -> None:
    config = ChunkConfig(SIZE, size, size // 2)
    assert list(iter_chunks(_pages(*texts), config)) == list(iter_chunks(_pages("\n".join(texts)), config))


@pytest.mark.parametrize(
    ("unit", "end"),
    [
        ("word. " * 50 + "\n\n", "\n\n"),
        ("word. " * 50 + "\n", "\n"),
        ("A sentence here. ", ". "),
        ("word ", " "),
        ("文字です。", "。"),
    ],
)
@pytest.mark.parametrize("strategy", [PAGE, WHOLE])
def test_a_chunk_that_is_too_long_is_cut_where_it_hurts_least(strategy: ChunkStrategy, unit: str, end: str) -> None:
    text = unit * (250_000 // len(unit))
    pieces = list(iter_chunks(_pages(text), ChunkConfig(strategy)))
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.cut for piece in pieces)
    assert all(MAX_CHUNK_LENGTH // 2 < len(piece.text) <= MAX_CHUNK_LENGTH for piece in pieces[:-1])
    assert all(piece.text.endswith(end) for piece in pieces[:-1])
    assert {piece.page for piece in pieces} == ({1} if strategy is PAGE else {None})


def test_a_chunk_of_the_greatest_length_is_not_cut() -> None:
    [piece] = iter_chunks(_pages("x" * MAX_CHUNK_LENGTH), ChunkConfig(WHOLE))
    assert not piece.cut
    pieces = list(iter_chunks(_pages("x" * (MAX_CHUNK_LENGTH + 1)), ChunkConfig(WHOLE)))
    assert [(len(piece.text), piece.cut) for piece in pieces] == [(MAX_CHUNK_LENGTH, True), (1, True)]


@pytest.mark.parametrize("config", [ChunkConfig(PAGE), ChunkConfig(SIZE, 100, 10), ChunkConfig(WHOLE)])
def test_pages_are_read_as_they_are_needed(config: ChunkConfig) -> None:
    read = 0

    def pages() -> Iterator[Page]:
        nonlocal read
        for number in range(1, 1001):
            read = number
            yield Page(number, "x" * 1000)

    next(iter_chunks(pages(), config))
    assert read <= chunk.MAX_CHUNK_LENGTH // 1000 + 2
    if config.strategy is not WHOLE:
        assert read <= 2
