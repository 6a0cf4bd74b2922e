"""The models that the provider ``local`` has, as much of them as can be said without loading one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from embeddings.port import TextKind
from embeddings.providers.local import assets

if TYPE_CHECKING:
    from tokenizers import Encoding


class LoadedModel(Protocol):
    """A model in memory, with its tokenizer. Thread-safe."""

    @property
    def unreadable(self) -> frozenset[int]:
        """The tokens that say nothing: a text of no others could not be told from any other such text."""
        ...

    def encode(self, text: str) -> Encoding:
        """Tokenise a text, however long, without what the model wants around it."""
        ...

    def vectors(self, contents: Sequence[Sequence[int]], *, kind: TextKind) -> npt.NDArray[np.float32]:
        """Return vectors of any length other than 0 for texts, given as their tokens, shape ``(texts, dimensions)``.

        The same text gets the same vector whatever is beside it.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model and its measures in tokens.

    ``longest_text`` is what it takes, without what it wants around a text; ``window`` is that or less, where a text
    that is cut within a word may have more tokens in parts than as a whole.
    """

    name: str
    dimensions: int
    longest_text: int
    window: int
    overlap: int
    load: Callable[[int], LoadedModel]


def _minilm(threads: int) -> LoadedModel:
    from embeddings.providers.local.minilm import MiniLM  # noqa: PLC0415 - onnxruntime, in the using process only

    return MiniLM(assets.minilm_weights(), assets.minilm_tokenizer(), threads=threads)


def _multilingual_e5(threads: int) -> LoadedModel:
    from embeddings.providers.local.e5 import MultilingualE5  # noqa: PLC0415 - onnxruntime, in the using process only

    return MultilingualE5(assets.e5_weights(), threads=threads)


MINILM = LocalModel(name="all-MiniLM-L6-v2", dimensions=384, longest_text=254, window=254, overlap=24, load=_minilm)
"""Of its 256 tokens two frame the text."""

MULTILINGUAL_E5 = LocalModel(
    name="multilingual-e5-small", dimensions=384, longest_text=507, window=496, overlap=48, load=_multilingual_e5
)
"""Of its 512 tokens two frame the text, and at most three are the prefix."""

MODELS: Mapping[str, LocalModel] = {model.name: model for model in (MINILM, MULTILINGUAL_E5)}
