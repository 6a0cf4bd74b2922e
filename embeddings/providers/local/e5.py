"""multilingual-e5-small: 4-bit weights and vocabulary from a package, run by onnxruntime with weights of 7 bits.

The package's own engine is not used: it takes nine times as long, ends a text at a NUL, and gives no offsets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer, models, normalizers, pre_tokenizers

from embeddings.port import TextKind
from embeddings.providers.local.assets import Asset
from embeddings.providers.local.e5_graph import e5_graph
from embeddings.providers.local.packed import Vocabulary, read_packed, unpacked
from embeddings.providers.local.runtime import Runtime

PREFIXES = {TextKind.QUERY: "query:", TextKind.DOCUMENT: "passage:"}
"""What the model was trained to see before a text."""

_BLANK = "▁"
"""The piece that a word begins with where no longer one fits."""


class MultilingualE5:
    """The loaded model: mean pooling over a text and its prefix."""

    def __init__(self, weights: Asset, *, threads: int) -> None:
        packed = read_packed(weights.mapped())
        self._runtime = Runtime(e5_graph(packed), threads=threads)
        self._words = packed.blocks("emb.word")  # a share of the mapped file: unpacked it would be 384 MB
        # Every token is of the first type.
        types = packed.floats("emb.type").reshape(-1, packed.sizes.width)
        self._places = packed.floats("emb.pos").reshape(-1, packed.sizes.width) + types[0]
        vocabulary = packed.vocabulary
        self._tokenizer = _tokenizer(vocabulary)
        self._frames = {
            kind: ([vocabulary.start, *self.encode(prefix).ids], [vocabulary.end]) for kind, prefix in PREFIXES.items()
        }
        blanks = {place for place, (piece, _) in enumerate(vocabulary.pieces) if piece == _BLANK}
        self.unreadable = frozenset({vocabulary.unknown, *blanks})

    def encode(self, text: str) -> Encoding:
        """Tokenise a text, however long, without the prefix and the special tokens around it."""
        return self._tokenizer.encode(text, add_special_tokens=False)

    def vectors(self, contents: Sequence[Sequence[int]], *, kind: TextKind) -> npt.NDArray[np.float32]:
        """Return the mean of the last hidden states over each text's tokens, shape ``(texts, dimensions)``.

        A run is one text: hidden states are rounded by the largest of a run, so that in company a text would get
        another vector than alone.
        """
        start, end = self._frames[kind]
        means = [self._mean([*start, *content, *end]) for content in contents]
        return np.stack(means)

    def _mean(self, token_ids: Sequence[int]) -> npt.NDArray[np.float32]:
        embedded = unpacked(self._words[list(token_ids)]) + self._places[: len(token_ids)]
        mean: npt.NDArray[np.float32] = self._runtime.states({"embedded": embedded[np.newaxis]})[0].mean(axis=0)
        return mean


def _tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """Return the tokenizer. Its character rules are those of the model's but for two characters of 4,837.

    Special tokens cannot be written in a text: here their names begin with a blank, and no word has one.
    """
    special = {vocabulary.start, vocabulary.end, vocabulary.padding, vocabulary.unknown, len(vocabulary.pieces) - 1}
    pieces = [
        (f" {piece}" if place in special else piece, score) for place, (piece, score) in enumerate(vocabulary.pieces)
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=vocabulary.unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return tokenizer
