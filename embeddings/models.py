"""Vector spaces, and the abstract table that vectors live in."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from pgvector.django import VectorField

from soat.tenancy.models import Project


class EmbeddingSpace(models.Model):
    """What a vector means: provider, model and number of dimensions.

    Vectors of two spaces are never compared. The one current space chooses the embedder for
    queries and writes.
    """

    provider = models.CharField(max_length=32)
    model = models.CharField(max_length=255)
    dimensions = models.PositiveSmallIntegerField()
    is_current = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["provider", "model", "dimensions"], name="space_unique"),
            models.UniqueConstraint(fields=["is_current"], name="space_one_current", condition=Q(is_current=True)),
            models.CheckConstraint(condition=Q(dimensions__gt=0), name="space_has_dimensions"),
        ]

    def __str__(self) -> str:
        return f"{self.provider}/{self.model} ({self.dimensions} dimensions)"


class StoredVector(models.Model):
    """One window of one row's text in one space.

    The column is an untyped ``vector``, so that spaces of any size share the table; each space has
    an HNSW index of its own on ``embedding::halfvec(N)`` (``embeddings.indexes``).
    """

    space = models.ForeignKey(EmbeddingSpace, on_delete=models.PROTECT, related_name="+", db_index=False)
    project = models.ForeignKey(
        Project, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    window = models.PositiveSmallIntegerField(default=0)
    embedding = VectorField()

    class Meta:
        abstract = True
