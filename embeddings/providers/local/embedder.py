"""The ``Embedder`` over the packaged model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from embeddings.port import Answer, EmbeddingRejected, Reason, Space, TextKind
from embeddings.providers.answers import checked_vectors
from embeddings.providers.local import assets
from embeddings.providers.per_process import PerProcess
from soat.engine.windows import Span, token_windows

if TYPE_CHECKING:
    from embeddings.providers.local.model import OnnxModel

FRAME_TOKENS = 2
WINDOW_TOKENS = assets.LONGEST_INPUT - FRAME_TOKENS
OVERLAP_TOKENS = 24
RUN_TOKENS = 256
"""Padded tokens of one run: short texts gain from company (383 against 235 a second), long ones only memory."""


class LocalEmbedder:
    """Embeds on the CPU of this process, with at most ``threads`` texts under way at once."""

    max_batch = 16

    def __init__(
        self, *, threads: int, weights: assets.Asset | None = None, tokenizer: assets.Asset | None = None
    ) -> None:
        """``weights`` and ``tokenizer`` stand in for the packaged files; None takes those."""
        self.space = Space("local", assets.MODEL, assets.DIMENSIONS)
        self._threads = threads
        self._weights = weights
        self._tokenizer = tokenizer
        self._model: PerProcess[OnnxModel] = PerProcess(self._load)

    def _load(self) -> OnnxModel:
        from embeddings.providers.local.model import OnnxModel  # noqa: PLC0415 - onnxruntime, in the using process only

        weights = self._weights or assets.weights()
        return OnnxModel(weights, self._tokenizer or assets.tokenizer(), threads=self._threads)

    def windows(self, text: str) -> list[Span]:
        """Cut at the model's own token offsets; exact for any text whose windows start and end at words."""
        encoding = self._model.get().encode(text, framed=False)
        return token_windows(text, encoding.offsets, limit=WINDOW_TOKENS, overlap=OVERLAP_TOKENS)

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        """Embed texts; the model knows neither kinds nor timeouts.

        A text gets the same vector whichever texts are beside it, so a stored text and the same text as a query meet.
        """
        model = self._model.get()
        token_ids = [model.encode(text, framed=True).ids for text in texts]
        answers: dict[int, Answer] = {}
        for place, ids in enumerate(token_ids):
            refusal = _refusal(ids, model.unknown_token)
            if refusal is not None:
                answers[place] = refusal
        readable = [place for place in range(len(texts)) if place not in answers]
        for run in _runs(readable, token_ids):
            rows = model.vectors([token_ids[place] for place in run])
            checked = checked_vectors(list(rows), count=len(run), dimensions=assets.DIMENSIONS)
            answers.update(zip(run, checked, strict=True))
        return [answers[place] for place in range(len(texts))]


def _refusal(ids: Sequence[int], unknown: int | None) -> EmbeddingRejected | None:
    """Refuse what the model would cut off or could not tell from any other text."""
    if len(ids) > assets.LONGEST_INPUT:
        return EmbeddingRejected(
            Reason.TOO_LONG, f"The text has {len(ids)} tokens, the model takes {assets.LONGEST_INPUT}."
        )
    if all(token == unknown for token in ids[1:-1]):
        return EmbeddingRejected(Reason.NO_CONTENT, "The text holds nothing that the model can read.")
    return None


def _runs(places: Sequence[int], token_ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Group texts of similar length so that a run, with its padding, stays within `RUN_TOKENS`."""
    run: list[int] = []
    for place in sorted(places, key=lambda place: len(token_ids[place])):
        if run and (len(run) + 1) * len(token_ids[place]) > RUN_TOKENS:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
