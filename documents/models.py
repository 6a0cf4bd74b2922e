"""Documents, the attempts to ingest them, their pages and chunks."""

from typing import ClassVar, Self

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Q

from embeddings.models import StoredVector
from soat.core.ids import PublicIdField
from soat.core.models import TimeStamped, WithoutLexemes
from soat.engine.chunk import ChunkStrategy
from soat.files.models import File
from soat.tenancy.models import Project
from soat.tenancy.resources import ResourceKind


class DocumentStatus(models.TextChoices):
    """Where the latest ingestion of a document stands."""

    PENDING = "pending"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"


class AttemptState(models.TextChoices):
    """Where one run of ingestion stands. Only ``processing`` may write; the last three are final."""

    QUEUED = "queued"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"
    SUPERSEDED = "superseded"


OPEN_STATES = (AttemptState.QUEUED, AttemptState.PROCESSING)
STRATEGIES = [(strategy.value, strategy.value) for strategy in ChunkStrategy]


class Document(TimeStamped):
    """A file's searchable form.

    ``current_attempt`` is the latest run; ``settled_attempt`` is the one whose pages and chunks
    count. A re-ingest builds beside the settled one, and the switch is this one row.
    """

    resource: ClassVar = ResourceKind(type="document", reads=("documents:GetDocument",), path="path", tags="tags")

    public_id = PublicIdField(prefix="doc")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="documents", db_index=False)
    file = models.OneToOneField(File, on_delete=models.PROTECT, related_name="document")
    owns_file = models.BooleanField(default=False, help_text="The document made its file and takes it along.")
    path = models.CharField(max_length=1024, null=True, blank=True)  # noqa: DJ001  (null: no path; "" is none)
    title = models.CharField(max_length=512, null=True, blank=True)  # noqa: DJ001
    metadata = models.JSONField(null=True, blank=True)
    tags = models.JSONField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=DocumentStatus.choices, default=DocumentStatus.PENDING)
    chunk_strategy = models.CharField(max_length=10, choices=STRATEGIES)
    chunk_size = models.PositiveIntegerField(null=True, blank=True)
    chunk_overlap = models.PositiveIntegerField(null=True, blank=True)
    current_attempt = models.ForeignKey(
        "IngestionAttempt", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    settled_attempt = models.ForeignKey(
        "IngestionAttempt", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["project", "path"], name="document_path_unique", condition=Q(path__isnull=False)
            ),
            models.CheckConstraint(
                condition=Q(chunk_size__isnull=True, chunk_overlap__isnull=True)
                | Q(chunk_size__gt=0, chunk_overlap__lt=F("chunk_size")),
                name="document_overlap_below_size",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["project", "-created_at", "-id"], name="document_list"),
            models.Index(
                fields=["project", "path"], name="document_path_prefix", opclasses=["int8_ops", "varchar_pattern_ops"]
            ),
            GinIndex(fields=["tags"], name="document_tags", opclasses=["jsonb_path_ops"]),
        ]

    def __str__(self) -> str:
        return self.path or self.title or self.public_id


class IngestionAttempt(models.Model):
    """One run of ingestion. A worker writes only while its attempt is ``processing``.

    ``automatic`` counts how many runs before this one died with their worker; ``progress_at`` is
    the claim or the last sign of work, and ``lease_expires_at`` is renewed while the worker lives.
    """

    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, related_name="attempts", db_constraint=False, db_index=False
    )
    project = models.ForeignKey(
        Project, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=AttemptState.choices, default=AttemptState.QUEUED)
    automatic = models.PositiveSmallIntegerField(default=0)
    chunk_strategy = models.CharField(max_length=10, choices=STRATEGIES)
    chunk_size = models.PositiveIntegerField(null=True)
    chunk_overlap = models.PositiveIntegerField(null=True)
    total_pages = models.PositiveIntegerField(null=True)
    total_chunks = models.PositiveIntegerField(null=True)
    chunk_count = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=40, blank=True)
    error_detail = models.TextField(blank=True)
    warnings = models.JSONField(default=list)
    worker = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField()
    published_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    progress_at = models.DateTimeField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cleared_at = models.DateTimeField(
        null=True, help_text="When the pages and chunks of a run that no longer counts were deleted."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["document", "number"], name="attempt_number_unique"),
            models.UniqueConstraint(
                fields=["document"], name="attempt_one_open", condition=Q(state__in=["queued", "processing"])
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["state", "published_at"], name="attempt_open", condition=Q(state__in=["queued", "processing"])
            ),
            models.Index(
                fields=["id"],
                name="attempt_to_clear",
                condition=Q(state__in=["failed", "superseded"], cleared_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} ({self.state})"


class DocumentPage(models.Model):
    """The extracted text of one page; ``start`` is its offset in the pages joined by line feeds."""

    attempt = models.ForeignKey(
        IngestionAttempt, on_delete=models.DO_NOTHING, related_name="pages", db_constraint=False
    )
    project = models.ForeignKey(
        Project, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    index = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    start = models.PositiveBigIntegerField()
    text = models.TextField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["attempt", "index"], name="page_index_unique")]

    def __str__(self) -> str:
        return f"page {self.number}"


class DocumentChunk(models.Model):
    """A piece of a document that is embedded and found. ``start`` and ``end`` are offsets into its text.

    ``lexemes`` are the words of ``content``, written together with it (``soat.tenancy.text_search``).
    """

    public_id = PublicIdField(prefix="dchunk")
    document = models.ForeignKey(Document, on_delete=models.DO_NOTHING, related_name="chunks", db_constraint=False)
    attempt = models.ForeignKey(
        IngestionAttempt, on_delete=models.DO_NOTHING, related_name="chunks", db_constraint=False, db_index=False
    )
    project = models.ForeignKey(
        Project, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    index = models.PositiveIntegerField()
    page = models.PositiveIntegerField(null=True)
    start = models.PositiveBigIntegerField()
    end = models.PositiveBigIntegerField()
    content = models.TextField()
    awaits_vector = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    lexemes = SearchVectorField(null=True, editable=False)

    objects: ClassVar[WithoutLexemes[Self]] = WithoutLexemes()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["attempt", "index"], name="chunk_index_unique")]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="chunk_awaits_vector", condition=Q(awaits_vector=True)),
            GinIndex(fields=["project", "lexemes"], name="chunk_lexemes"),
        ]

    def __str__(self) -> str:
        return f"chunk {self.index}"


class ChunkVector(StoredVector):
    """One window of a chunk in one space."""

    chunk = models.ForeignKey(
        DocumentChunk, on_delete=models.DO_NOTHING, related_name="vectors", db_constraint=False, db_index=False
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["chunk", "space", "window"], name="chunk_vector_unique"),
        ]
        indexes: ClassVar = [models.Index(fields=["space", "project"], name="chunk_vector_scope")]

    def __str__(self) -> str:
        return f"vector of chunk {self.chunk_id}"
