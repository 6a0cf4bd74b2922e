"""Giving rows their vectors later: the part that documents and memories share.

Nothing is locked while the provider works. What comes of it is stored by the app, which looks
again whether the row still waits with the same text. Interrupted at any moment, or run twice at
once, it loses nothing: the rows that still wait are found by the next run.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from embeddings.batching import EmbeddedText
from embeddings.models import EmbeddingSpace
from embeddings.services import embed_documents

ROWS_PER_BATCH = 32
# Below the interval at which the task is sent, so that runs do not pile up.
SECONDS_PER_RUN = 20.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row without a vector, by its database key."""

    key: int
    text: str


@dataclass(frozen=True, slots=True)
class Filled:
    """A row's text and what the provider made of it: vectors, or a refusal for good."""

    waiting: Waiting
    embedded: EmbeddedText


Find = Callable[[int, int], Sequence[Waiting]]
"""Given a key and a number, return at most so many waiting rows above the key, in order."""

Store = Callable[[EmbeddingSpace, Sequence[Filled]], int]
"""Store what is still wanted in one transaction; return how many rows wait no more."""


def fill(find: Find, store: Store, *, seconds: float = SECONDS_PER_RUN) -> int:
    """Embed waiting rows batch by batch, for at most about ``seconds``; return how many wait no more.

    A provider that does not answer ends the run at once; the rows keep waiting.
    """
    deadline = time.monotonic() + seconds
    done, after = 0, 0
    while time.monotonic() < deadline and (batch := find(after, ROWS_PER_BATCH)):
        embedded = embed_documents([row.text for row in batch], urgent=True)
        filled = [
            Filled(row, text)
            for row, text in zip(batch, embedded.texts, strict=True)
            if text.error is None or text.error.permanent
        ]
        if embedded.space is None or not filled:
            return done
        done += store(embedded.space, filled)
        after = batch[-1].key
    return done
