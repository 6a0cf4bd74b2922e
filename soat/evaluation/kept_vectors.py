"""Vectors of stored texts, kept from one run to the next: embedding is most of the time that a set takes."""

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from embeddings.port import Answer, Embedder, TextKind
from embeddings.services import embedder_wrapped
from soat.engine.windows import Span


class RememberingEmbedder:
    """An embedder that asks another one only for texts that it has no vector of.

    Questions are always embedded: their time is part of what is measured.
    """

    def __init__(self, inner: Embedder, kept: sqlite3.Connection, lock: threading.Lock) -> None:
        self._inner = inner
        self._kept = kept
        self._lock = lock
        self.space = inner.space
        self.max_batch = inner.max_batch

    def windows(self, text: str) -> list[Span]:
        """Cut as the model does."""
        return self._inner.windows(text)

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        """Return what is kept, ask for the rest and keep that; what was refused is not kept."""
        if kind is TextKind.QUERY:
            return self._inner.embed(texts, kind=kind, urgent=urgent)
        keys = [self._key(text) for text in texts]
        with self._lock:
            found = {key: vector for key in keys if (vector := self._read(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            answers = self._inner.embed([*missing.values()], kind=kind, urgent=urgent)
            found |= dict(zip(missing, answers, strict=True))
            self._write({key: answer for key, answer in found.items() if key in missing})
        return [found[key] for key in keys]

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self.space}\n{text}".encode()).digest()

    def _read(self, key: bytes) -> Answer | None:
        row = self._kept.execute("SELECT vector FROM kept WHERE key = ?", [key]).fetchone()
        return np.frombuffer(row[0], dtype=np.float32) if row else None

    def _write(self, answers: dict[bytes, Answer]) -> None:
        rows = [(key, answer.tobytes()) for key, answer in answers.items() if isinstance(answer, np.ndarray)]
        with self._lock, self._kept:
            self._kept.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)


@contextmanager
def remembering(file: Path) -> Iterator[Callable[[Embedder], Embedder]]:
    """Open a file of vectors; the value wraps an embedder so that it looks there first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = threading.Lock()
    with closing(sqlite3.connect(file, check_same_thread=False)) as kept:
        kept.execute("CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")
        yield lambda inner: RememberingEmbedder(inner, kept, lock)


@contextmanager
def vectors_kept_in(file: Path) -> Iterator[None]:
    """Keep the vectors of all that is stored in this block in a file, and take them from there the next time."""
    with remembering(file) as wrap, embedder_wrapped(wrap):
        yield
