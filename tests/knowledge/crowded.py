"""Thousands of entries and chunks whose vectors lie as those of real texts do: perturbed copies of embedded ones."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.utils import timezone

from documents.models import ChunkVector, Document, DocumentChunk, IngestionAttempt
from embeddings.models import EmbeddingSpace
from embeddings.services import QueryVector, embed_documents
from memories.models import EntryVector, Memory, MemoryEntry
from tests.conftest import Cast, make_cast
from tests.knowledge.world import new_document

Rows = npt.NDArray[np.float32]

NOISE = 0.02
BIG, SMALL, FOREIGN, LONG_TEXTS, CHUNKS, TWINS = 2_400, 30, 300, 40, 500, 60
WINDOWS = 6
VOLUMES = 10
PEOPLE = ("Alice", "Bob", "the dean", "a nurse")
DEEDS = ("paints boats", "grows tea", "plays chess", "repairs clocks", "translates Latin")
PLACES = ("in Rome", "at the harbour", "on Fridays")


@dataclass(frozen=True)
class Crowd:
    """The database keys and the vectors that tests look for."""

    cast: Cast
    space: EmbeddingSpace
    big: Memory
    small: Memory
    foreign: Memory
    long: Memory
    twins: Memory
    twin: Rows
    base: Rows

    def queries(self, count: int) -> Iterator[QueryVector]:
        """Yield queries that lie near the texts, always the same ones."""
        rows = _perturbed(self.base, count, np.random.default_rng(7))
        return (QueryVector(self.space, row) for row in rows)


def build_crowd() -> Crowd:
    """Fill the database, with the indexes there from the start, as they are on a server."""
    call_command("prepare_space", verbosity=0)
    cast = make_cast()
    texts = [" ".join(parts) for parts in itertools.product(PEOPLE, DEEDS, PLACES)]
    embedded = embed_documents(texts)
    assert embedded.space is not None
    base = np.asarray([text.windows[0] for text in embedded.texts], dtype=np.float32)
    random = np.random.default_rng(42)
    names = ("big", "small", "long", "twins")
    memories = {name: Memory.objects.create(project=cast.project_a, name=name) for name in names}
    memories["foreign"] = Memory.objects.create(project=cast.project_b, name="foreign")
    twin = _perturbed(base, 1, random)[0]
    for name, count in [("big", BIG), ("small", SMALL), ("foreign", FOREIGN)]:
        _insert_entries(memories[name], embedded.space, _perturbed(base, count, random)[:, None, :])
    windows = _perturbed(base, LONG_TEXTS * WINDOWS, random).reshape(LONG_TEXTS, WINDOWS, -1)
    _insert_entries(memories["long"], embedded.space, windows)
    _insert_entries(memories["twins"], embedded.space, np.repeat(twin[None, None, :], TWINS, axis=0))
    for volume, vectors in enumerate(np.split(_perturbed(base, CHUNKS, random), VOLUMES)):
        document = new_document(cast.a, "First.", path=f"/big/{volume}.txt")
        _insert_chunks(Document.objects.get(public_id=document), embedded.space, vectors)
    with connection.cursor() as cursor:
        for model in (EntryVector, MemoryEntry, Memory, ChunkVector, DocumentChunk, Document):
            cursor.execute(f"ANALYZE {model._meta.db_table}")
    return Crowd(cast=cast, space=embedded.space, twin=twin, base=base, **memories)


def _perturbed(base: Rows, count: int, random: np.random.Generator) -> Rows:
    rows = base[np.arange(count) % len(base)] + random.normal(0, NOISE, (count, base.shape[1]))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _tags(place: int) -> list[str]:
    return [
        tag
        for tag, every in (("all", 1), ("tenth", 10), ("hundredth", 100), ("thousandth", 1_000))
        if place % every == 0
    ]


def _insert_entries(memory: Memory, space: EmbeddingSpace, windows: npt.NDArray[np.float32]) -> None:
    digest = bytes(32)
    entries = MemoryEntry.objects.bulk_create(
        MemoryEntry(
            project_id=memory.project_id,
            memory=memory,
            content=f"{memory.name} {place}",
            content_hash=digest,
            tags=_tags(place),
            revision=place + 1,
        )
        for place in range(len(windows))
    )
    owner: dict[str, Any] = {"memory": memory, "project_id": memory.project_id, "space": space}
    EntryVector.objects.bulk_create(
        EntryVector(entry=entry, window=window, embedding=vector, **owner)
        for entry, vectors in zip(entries, windows, strict=True)
        for window, vector in enumerate(vectors)
    )


def _insert_chunks(document: Document, space: EmbeddingSpace, vectors: Rows) -> None:
    now = timezone.now()
    owner: dict[str, Any] = {"project_id": document.project_id}
    chunks = DocumentChunk.objects.bulk_create(
        DocumentChunk(
            document=document,
            attempt=document.settled_attempt,
            index=index,
            start=0,
            end=0,
            content=f"chunk {index}",
            created_at=now,
            **owner,
        )
        for index in range(1, len(vectors) + 1)
    )
    ChunkVector.objects.bulk_create(
        ChunkVector(chunk=chunk, space=space, embedding=vector, **owner)
        for chunk, vector in zip(chunks, vectors, strict=True)
    )
    IngestionAttempt.objects.filter(document=document).update(chunk_count=F("chunk_count") + len(chunks))
