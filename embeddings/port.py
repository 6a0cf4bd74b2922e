"""What the rest of SOAT knows about an embedding model: values, errors and the ``Embedder`` port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from soat.engine.windows import Span

Vector: TypeAlias = npt.NDArray[np.float32]
"""One embedding: shape ``(dimensions,)``, unit length, every number finite."""


class TextKind(StrEnum):
    """What a text is to the search; some models embed the two differently."""

    DOCUMENT = "document"
    QUERY = "query"


class Reason(StrEnum):
    """Why a text can have no vector, as a closed set that may be stored and counted."""

    INVALID_TEXT = "invalid_text"
    NO_CONTENT = "no_content"
    TOO_LONG = "too_long"
    REFUSED = "refused"
    MALFORMED_ANSWER = "malformed_answer"
    WRONG_COUNT = "wrong_count"
    WRONG_DIMENSIONS = "wrong_dimensions"
    ZERO_VECTOR = "zero_vector"
    NOT_FINITE = "not_finite"


TEXT_FAULTS = frozenset({Reason.INVALID_TEXT, Reason.NO_CONTENT, Reason.TOO_LONG, Reason.REFUSED})
"""The reasons that lie in the text; all others lie in the provider, and may be gone once it is mended."""


@dataclass(frozen=True, slots=True)
class Space:
    """The vector space of a deployment; vectors of two spaces are never compared."""

    provider: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """The settings that choose and reach an embedding model.

    ``base_url``, ``api_key`` and ``region`` are None where the provider's own default holds. The two timeouts
    are seconds: ``query_timeout`` while somebody waits for the answer, ``timeout`` for background work.
    ``threads`` caps the CPU threads of a model that runs inside this process.
    """

    provider: str
    model: str
    dimensions: int
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    region: str | None = None
    timeout: float = 60.0
    query_timeout: float = 10.0
    threads: int = 1


class EmbeddingError(Exception):
    """A text got no vector.

    ``permanent`` is true where asking again with the same text cannot help; a row whose error is not permanent
    waits for its vector.
    """

    permanent: bool = False


class EmbeddingUnavailable(EmbeddingError):
    """The provider did not answer, or not now; a later try can heal it.

    ``retry_after`` is the number of seconds that the provider asked to wait, None if it named none.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EmbedderMisconfigured(EmbeddingError):
    """The settings, or the model behind them, are wrong; the text is not at fault and waits for an operator."""


class EmbeddingRejected(EmbeddingError):
    """This text has no vector. It is final where the text is at fault, not where the provider's answer is."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.permanent = reason in TEXT_FAULTS


Answer: TypeAlias = Vector | EmbeddingRejected
"""What a provider says to one text."""


class Embedder(Protocol):
    """A model that turns texts into vectors. Implementations are thread-safe and survive a fork."""

    @property
    def space(self) -> Space: ...

    @property
    def max_batch(self) -> int:
        """The number of texts that one ``embed`` may carry."""
        ...

    def windows(self, text: str) -> list[Span]:
        """Cut a text into windows that fit the model, in order, overlapping, together the whole text.

        One window for a text that fits. An estimate where the provider has no tokenizer here: ``embed`` then
        answers ``Reason.TOO_LONG`` and the caller cuts further.
        """
        ...

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        """Embed texts that each fit the model; the answers stand in the order of the texts.

        Nothing is cut off: a text that does not fit is rejected as ``TOO_LONG``. ``urgent`` chooses the short
        timeout. Raises `EmbeddingUnavailable` or `EmbedderMisconfigured` for the whole call, and
        `EmbeddingRejected` where the provider refused the batch without naming the text that it refused.
        """
        ...
