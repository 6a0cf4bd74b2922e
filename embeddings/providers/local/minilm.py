"""all-MiniLM-L6-v2: int8 weights as an ONNX file from a package, its tokenizer from beside this module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from embeddings.port import TextKind
from embeddings.providers.local.assets import Asset
from embeddings.providers.local.runtime import Runtime

RUN_TOKENS = 256
"""Padded tokens of one run: short texts gain from company (383 against 235 a second), long ones only memory."""


class MiniLM:
    """The loaded model: mean pooling, no prefixes, one vector whatever a text is to the search."""

    def __init__(self, weights: Asset, tokenizer: Asset, *, threads: int) -> None:
        self._runtime = Runtime(weights.read(), threads=threads)
        self._tokenizer = Tokenizer.from_str(tokenizer.read().decode())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._start, self._end = self._tokenizer.encode("").ids
        unknown = self._tokenizer.token_to_id("[UNK]")
        self.unreadable = frozenset() if unknown is None else frozenset({unknown})

    def encode(self, text: str) -> Encoding:
        """Tokenise a text, however long, without the two special tokens around it."""
        return self._tokenizer.encode(text, add_special_tokens=False)

    def vectors(self, contents: Sequence[Sequence[int]], *, kind: TextKind) -> npt.NDArray[np.float32]:
        """Return the mean of the last hidden states over each text's tokens, shape ``(texts, dimensions)``."""
        framed = [[self._start, *content, self._end] for content in contents]
        found: dict[int, npt.NDArray[np.float32]] = {}
        for run in _runs(framed):
            found.update(zip(run, self._means([framed[place] for place in run]), strict=True))
        return np.stack([found[place] for place in range(len(contents))])

    def _means(self, token_ids: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        longest = max(len(ids) for ids in token_ids)
        padded = np.zeros((len(token_ids), longest), dtype=np.int64)
        mask = np.zeros_like(padded)
        for row, ids in enumerate(token_ids):
            padded[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        inputs = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}
        weight = mask[:, :, np.newaxis].astype(np.float32)
        means: npt.NDArray[np.float32] = (self._runtime.states(inputs) * weight).sum(axis=1) / weight.sum(axis=1)
        return means


def _runs(token_ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Group texts of similar length so that a run, with its padding, stays within `RUN_TOKENS`."""
    run: list[int] = []
    for place in sorted(range(len(token_ids)), key=lambda place: len(token_ids[place])):
        if run and (len(run) + 1) * len(token_ids[place]) > RUN_TOKENS:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
