"""Memories, their entries and the vectors of these."""

from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q

from embeddings.models import StoredVector
from soat.core.ids import PublicIdField
from soat.core.models import TimeStamped, WithoutLexemes
from soat.tenancy.models import Project
from soat.tenancy.resources import Container, ResourceKind


class SourceType(models.TextChoices):
    """The path by which an entry came in."""

    MANUAL = "manual"
    AGENT = "agent"
    EXTRACTION = "extraction"
    ORCHESTRATION = "orchestration"


class Memory(TimeStamped):
    """A container of entries. ``revision`` counts the changes to them; it moves only under the row's lock."""

    resource: ClassVar = ResourceKind(type="memory", reads=("memories:GetMemory",), tags="tags", tag_list=True)

    public_id = PublicIdField(prefix="mem")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="memories", db_index=False)
    name = models.CharField(max_length=255)
    description = models.TextField(null=True, blank=True)  # noqa: DJ001  (the contract tells null from "")
    tags = ArrayField(models.CharField(max_length=255), default=list, blank=True)
    revision = models.PositiveBigIntegerField(default=0, editable=False)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        verbose_name_plural = "memories"
        indexes: ClassVar = [
            models.Index(fields=["project", "-created_at", "-id"], name="memory_list"),
        ]

    def __str__(self) -> str:
        return self.name


PLACE_OF_ENTRIES = ResourceKind(
    type="memory-entry",
    reads=("memories:GetMemory",),
    tags="tags",
    tag_list=True,
    container=Container(type="memory", link=None),
)
"""A memory, asked for its entries or for a new one."""


class MemoryEntry(TimeStamped):
    """One atomic fact.

    ``content_hash`` finds an equal text; ``revision`` is the memory's at the entry's last change, so
    that a writer can ask what has come or changed since it looked. ``lexemes`` are the words of
    ``content``, written together with it (``soat.tenancy.text_search``).
    """

    resource: ClassVar = ResourceKind(
        type="memory-entry",
        reads=("memories:GetMemoryEntry", "memories:GetMemory"),
        tags="tags",
        tag_list=True,
        container=Container(type="memory", link="memory"),
    )

    public_id = PublicIdField(prefix="mem_entry")
    project = models.ForeignKey(
        Project, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    memory = models.ForeignKey(
        Memory, on_delete=models.DO_NOTHING, related_name="entries", db_constraint=False, db_index=False
    )
    content = models.TextField()
    content_hash = models.BinaryField(max_length=32, editable=False)
    source_type = models.CharField(max_length=16, choices=SourceType.choices, default=SourceType.MANUAL)
    tags = ArrayField(models.CharField(max_length=255), default=list, blank=True)
    metadata = models.JSONField(null=True, blank=True)
    source_generation_id = models.CharField(max_length=40, null=True, editable=False)  # noqa: DJ001
    source_conversation_id = models.CharField(max_length=40, null=True, editable=False)  # noqa: DJ001
    invalidated_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="supersedes"
    )
    awaits_vector = models.BooleanField(default=False)
    revision = models.PositiveBigIntegerField(default=0, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    lexemes = SearchVectorField(null=True, editable=False)

    objects: ClassVar[WithoutLexemes[Self]] = WithoutLexemes()

    class Meta:
        ordering: ClassVar = ["created_at", "id"]
        verbose_name_plural = "memory entries"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(superseded_by__isnull=True) | Q(invalidated_at__isnull=False),
                name="entry_superseded_is_invalid",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["memory", "created_at", "id"], name="entry_list"),
            models.Index(fields=["memory", "content_hash"], name="entry_equal_text"),
            models.Index(fields=["memory", "revision"], name="entry_changes"),
            models.Index(fields=["id"], name="entry_awaits_vector", condition=Q(awaits_vector=True)),
            GinIndex(fields=["tags"], name="entry_tags"),
            GinIndex(fields=["memory", "lexemes"], name="entry_lexemes"),
        ]

    def __str__(self) -> str:
        return self.content[:80]


class EntryVector(StoredVector):
    """One window of an entry's text in one space. ``memory`` is repeated here, so that a shortlist reads one table."""

    entry = models.ForeignKey(
        MemoryEntry, on_delete=models.DO_NOTHING, related_name="vectors", db_constraint=False, db_index=False
    )
    memory = models.ForeignKey(Memory, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["entry", "space", "window"], name="entry_vector_unique"),
        ]
        indexes: ClassVar = [models.Index(fields=["space", "project"], name="entry_vector_scope")]

    def __str__(self) -> str:
        return f"vector of entry {self.entry_id}"
