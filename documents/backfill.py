"""Vectors for chunks that were stored without one."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import F

from documents.models import ChunkVector, DocumentChunk
from embeddings.backfill import Filled, Waiting, fill
from embeddings.models import EmbeddingSpace


def backfill_chunks() -> int:
    """Give waiting chunks of settled runs their vectors; return how many wait no more."""
    return fill(_find, _store)


def _find(after: int, number: int) -> list[Waiting]:
    rows = DocumentChunk.objects.filter(
        awaits_vector=True, pk__gt=after, document__settled_attempt_id=F("attempt_id")
    ).order_by("pk")
    return [Waiting(key, text) for key, text in rows.values_list("pk", "content")[:number]]


def _store(space: EmbeddingSpace, filled: Sequence[Filled]) -> int:
    with transaction.atomic():
        held = DocumentChunk.objects.select_for_update(no_key=True, skip_locked=True).filter(
            pk__in=[row.waiting.key for row in filled], awaits_vector=True
        )
        projects = dict(held.values_list("pk", "project_id"))
        ChunkVector.objects.bulk_create(
            ChunkVector(
                chunk_id=row.waiting.key,
                space=space,
                project_id=projects[row.waiting.key],
                window=window,
                embedding=vector,
            )
            for row in filled
            if row.waiting.key in projects
            for window, vector in enumerate(row.embedded.windows)
        )
        return DocumentChunk.objects.filter(pk__in=projects).update(awaits_vector=False)
