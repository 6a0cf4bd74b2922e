"""Chunking: from extracted pages to chunks, as a stream.

Offsets count characters of the joined text, the pages joined by a line feed, whatever the strategy:
``joined[chunk.start:chunk.end] == chunk.text``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from soat.engine.boundaries import best_cut
from soat.engine.graphemes import MAX_CLUSTER, cut_point
from soat.engine.text import is_blank

# The seeds' window. Characters, not tokens.
DEFAULT_SIZE = 1000
DEFAULT_OVERLAP = 200
# A tsvector ends at 1 MiB of lexemes and positions: 100,000 characters of four bytes with a position each stay below.
MAX_CHUNK_LENGTH = 100_000

PAGE_SEPARATOR = "\n"


class ChunkStrategy(StrEnum):
    """How pages become chunks."""

    PAGE = "page"
    WHOLE = "whole"
    SIZE = "size"


class ChunkField(StrEnum):
    """The fields of a chunk configuration, as the wire calls them."""

    STRATEGY = "chunk_strategy"
    SIZE = "chunk_size"
    OVERLAP = "chunk_overlap"


class ChunkConfigRefused(ValueError):
    """A configuration that makes no chunks; ``field`` names the wrong value."""

    def __init__(self, field: ChunkField, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """What one place (a request, an ingestion rule) says about chunking; ``None`` is not said."""

    strategy: ChunkStrategy | None = None
    size: int | None = None
    overlap: int | None = None


@dataclass(frozen=True, slots=True)
class ChunkConfig:
    """The values in effect; size and overlap are ``None`` for a strategy that has no window."""

    strategy: ChunkStrategy
    size: int | None = None
    overlap: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One extracted page; ``number`` is the file's own and need not be dense."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the joined text.

    ``index`` is dense from 0. ``page`` is the page's own number, ``None`` for every strategy but ``page``.
    ``cut`` marks a piece of a chunk that was longer than ``MAX_CHUNK_LENGTH``: the document gets a warning.
    """

    index: int
    text: str
    page: int | None
    start: int
    end: int
    cut: bool = False


def resolve_config(request: ChunkRequest | None, rule: ChunkRequest | None, default: ChunkStrategy) -> ChunkConfig:
    """Return the configuration in effect, field by field: request, then rule, then default.

    Values are checked even when the strategy does not use them. A default overlap is lowered to half
    the window when a size below 400 was given alone, so that the windows stay few; an overlap that was
    said is never changed. Raises ``ChunkConfigRefused``.
    """
    said = [source for source in (request, rule) if source is not None]
    strategy = next((source.strategy for source in said if source.strategy is not None), default)
    size = next((source.size for source in said if source.size is not None), DEFAULT_SIZE)
    overlap = next((source.overlap for source in said if source.overlap is not None), None)
    if not 1 <= size <= MAX_CHUNK_LENGTH:
        raise ChunkConfigRefused(ChunkField.SIZE, f"chunk_size must be between 1 and {MAX_CHUNK_LENGTH}")
    if overlap is None:
        overlap = min(DEFAULT_OVERLAP, size // 2)
    if not 0 <= overlap < size:
        raise ChunkConfigRefused(
            ChunkField.OVERLAP, f"chunk_overlap must be at least 0 and less than chunk_size ({size}), not {overlap}"
        )
    if strategy is ChunkStrategy.SIZE:
        return ChunkConfig(strategy, size, overlap)
    return ChunkConfig(strategy)


def join_pages(pages: Iterable[Page]) -> str:
    """Return the text that the offsets of chunks count in."""
    return PAGE_SEPARATOR.join(page.text for page in pages)


def iter_chunks(pages: Iterable[Page], config: ChunkConfig) -> Iterator[Chunk]:
    """Yield the chunks of a document, in order; the pages are read once, as they are needed.

    ``page``: one chunk a page. ``whole``: one chunk. ``size``: windows of ``size`` characters that
    start ``size - overlap`` apart; the last is the one that reaches the end. Cuts move back to the
    boundary of a grapheme cluster. Blank chunks are dropped. Held in memory: a page and a chunk.
    """
    index = 0
    for start, text, page, cut in _spans(pages, config):
        if not is_blank(text):
            yield Chunk(index=index, text=text, page=page, start=start, end=start + len(text), cut=cut)
            index += 1


def count_chunks(pages: Iterable[Page], config: ChunkConfig) -> int:
    """Return how many chunks ``iter_chunks`` yields for the same pages, one held at a time."""
    return sum(1 for _ in iter_chunks(pages, config))


Span = tuple[int, str, int | None, bool]
"""Start in the joined text, text, page number, whether it is a piece of a chunk that was too long."""


def _spans(pages: Iterable[Page], config: ChunkConfig) -> Iterator[Span]:
    if config.strategy is ChunkStrategy.PAGE:
        yield from _page_spans(pages)
    elif config.strategy is ChunkStrategy.WHOLE:
        for start, text, cut in _pieces(_Joined(page.text for page in pages)):
            yield start, text, None, cut
    else:
        for start, text in _windows(_Joined(page.text for page in pages), config):
            yield start, text, None, False


def _page_spans(pages: Iterable[Page]) -> Iterator[Span]:
    offset = 0
    for page in pages:
        for start, text, cut in _pieces(_Joined([page.text])):
            yield offset + start, text, page.number, cut
        offset += len(page.text) + len(PAGE_SEPARATOR)


class _Joined:
    """The joined text as a stream.

    ``text[at:]`` is what was read and not yet passed, ``base`` the offset of ``text`` in the joined text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = iter(texts)
        self._started = False
        self.text = ""
        self.at = 0
        self.base = 0

    @property
    def offset(self) -> int:
        """Where the stream stands in the joined text."""
        return self.base + self.at

    def ahead(self, wanted: int) -> int:
        """Read until ``wanted`` characters lie ahead; return how many do: fewer only at the end."""
        have = len(self.text) - self.at
        if have >= wanted:
            return have
        parts = [self.text[self.at :]]
        for text in self._texts:
            if self._started:
                parts.append(PAGE_SEPARATOR)
                have += len(PAGE_SEPARATOR)
            self._started = True
            parts.append(text)
            have += len(text)
            if have >= wanted:
                break
        self.base += self.at
        self.at = 0
        self.text = "".join(parts)
        return have


def _windows(joined: _Joined, config: ChunkConfig) -> Iterator[tuple[int, str]]:
    """Yield start and text of each window: at most ``size`` characters, but for a single longer cluster."""
    size = DEFAULT_SIZE if config.size is None else config.size
    step = size - (DEFAULT_OVERLAP if config.overlap is None else config.overlap)
    passed = 0
    while joined.ahead(size + MAX_CLUSTER + 1) > size:
        start = joined.at
        end = cut_point(joined.text, start, start + size)
        # A cluster that the window before had no room for may leave no room for anything new here.
        if joined.base + end > passed:
            yield joined.offset, joined.text[start:end]
            passed = joined.base + end
        if end == len(joined.text):
            return
        joined.at = cut_point(joined.text, start, start + step)
    if joined.at < len(joined.text):
        yield joined.offset, joined.text[joined.at :]


def _pieces(joined: _Joined) -> Iterator[tuple[int, str, bool]]:
    """Yield the text whole, or in pieces of at most ``MAX_CHUNK_LENGTH`` when it is longer: start, text, cut or not."""
    cut = False
    while joined.ahead(MAX_CHUNK_LENGTH + MAX_CLUSTER + 1) > MAX_CHUNK_LENGTH:
        cut = True
        end = best_cut(joined.text, joined.at, joined.at + MAX_CHUNK_LENGTH)
        yield joined.offset, joined.text[joined.at : end], cut
        joined.at = end
    if joined.at < len(joined.text):
        yield joined.offset, joined.text[joined.at :], cut
