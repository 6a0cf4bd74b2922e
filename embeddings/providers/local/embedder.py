"""The ``Embedder`` over a packaged model."""

from __future__ import annotations

from collections.abc import Sequence

from embeddings.port import Answer, EmbeddingRejected, Reason, Space, TextKind
from embeddings.providers.answers import checked_vectors
from embeddings.providers.local.models import LoadedModel, LocalModel
from embeddings.providers.per_process import PerProcess
from soat.engine.windows import Span, token_windows


class LocalEmbedder:
    """Embeds on the CPU of this process, with at most ``threads`` texts under way at once."""

    max_batch = 16

    def __init__(self, model: LocalModel, *, threads: int) -> None:
        self.space = Space("local", model.name, model.dimensions)
        self._model = model
        self._loaded: PerProcess[LoadedModel] = PerProcess(lambda: model.load(threads))

    def windows(self, text: str) -> list[Span]:
        """Cut at the model's own token offsets; exact for any text whose windows start and end at words."""
        offsets = self._loaded.get().encode(text).offsets
        return token_windows(text, offsets, limit=self._model.window, overlap=self._model.overlap)

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        """Embed texts; a model in this process knows no timeouts.

        A text gets the same vector whichever texts are beside it, so a stored text and the same text as a query meet
        where the model does not tell the two apart.
        """
        loaded = self._loaded.get()
        contents = [loaded.encode(text).ids for text in texts]
        answers: dict[int, Answer] = {}
        for place, content in enumerate(contents):
            refusal = self._refusal(content, loaded.unreadable)
            if refusal is not None:
                answers[place] = refusal
        readable = [place for place in range(len(texts)) if place not in answers]
        if readable:
            rows = loaded.vectors([contents[place] for place in readable], kind=kind)
            checked = checked_vectors(list(rows), count=len(readable), dimensions=self._model.dimensions)
            answers.update(zip(readable, checked, strict=True))
        return [answers[place] for place in range(len(texts))]

    def _refusal(self, content: Sequence[int], unreadable: frozenset[int]) -> EmbeddingRejected | None:
        """Refuse what the model would cut off or could not tell from any other text."""
        longest = self._model.longest_text
        if len(content) > longest:
            return EmbeddingRejected(Reason.TOO_LONG, f"The text has {len(content)} tokens, the model takes {longest}.")
        if unreadable.issuperset(content):
            return EmbeddingRejected(Reason.NO_CONTENT, "The text holds nothing that the model can read.")
        return None
