"""How Bedrock's families of embedding models are asked and how they answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embeddings.port import TextKind
from embeddings.providers.answers import Row

COHERE_TEXTS = 96
INPUT_TYPES = {TextKind.DOCUMENT: "search_document", TextKind.QUERY: "search_query"}


@dataclass(frozen=True, slots=True)
class Family(ABC):
    """Models that speak one shape.

    ``texts`` is the number of texts that a request takes, ``context`` the tokens that a text may have, and
    ``dimensions`` what the models can answer with.
    """

    texts: int
    context: int
    dimensions: tuple[int, ...]

    @abstractmethod
    def request(self, texts: Sequence[str], *, kind: TextKind, dimensions: int) -> dict[str, Any]:
        """Return the body of a request."""

    @abstractmethod
    def rows(self, answer: Any) -> list[Row]:
        """Return an answer's vectors. Raises ``KeyError`` or ``TypeError`` for an answer of another shape."""


@dataclass(frozen=True, slots=True)
class Titan(Family):
    """Amazon Titan Text Embeddings: one text a request, no kinds; it has no switch to cut texts off."""

    takes_dimensions: bool

    def request(self, texts: Sequence[str], *, kind: TextKind, dimensions: int) -> dict[str, Any]:
        (text,) = texts
        if not self.takes_dimensions:
            return {"inputText": text}
        return {"inputText": text, "dimensions": dimensions, "normalize": True}

    def rows(self, answer: Any) -> list[Row]:
        return [answer["embedding"]]


@dataclass(frozen=True, slots=True)
class Cohere(Family):
    """Cohere Embed: documents and queries are embedded differently, nothing is cut off."""

    takes_dimensions: bool

    def request(self, texts: Sequence[str], *, kind: TextKind, dimensions: int) -> dict[str, Any]:
        request: dict[str, Any] = {
            "texts": list(texts),
            "input_type": INPUT_TYPES[kind],
            "truncate": "NONE",
            "embedding_types": ["float"],
        }
        if self.takes_dimensions:
            request["output_dimension"] = dimensions
        return request

    def rows(self, answer: Any) -> list[Row]:
        found = answer["embeddings"]
        return list(found["float"] if isinstance(found, dict) else found)


FAMILIES: dict[str, Family] = {
    "titan-embed-text-v1": Titan(1, 8192, (1536,), takes_dimensions=False),
    "titan-embed-g1-text": Titan(1, 8192, (1536,), takes_dimensions=False),
    "titan-embed-text-v2": Titan(1, 8192, (256, 512, 1024), takes_dimensions=True),
    "cohere.embed-english-v3": Cohere(COHERE_TEXTS, 512, (1024,), takes_dimensions=False),
    "cohere.embed-multilingual-v3": Cohere(COHERE_TEXTS, 512, (1024,), takes_dimensions=False),
    "cohere.embed-v4": Cohere(COHERE_TEXTS, 128_000, (256, 512, 1024, 1536), takes_dimensions=True),
}
"""By what stands in the model's id, in that of its inference profile (``eu.cohere.embed-v4:0``) and in their ARNs."""


def family_of(model: str) -> Family | None:
    """Return the family of a model id or ARN, None if its name does not tell."""
    return next((family for name, family in FAMILIES.items() if name in model), None)
