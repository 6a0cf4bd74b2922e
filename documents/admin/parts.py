"""Runs of ingestion, pages and chunks in the admin: looked at, never edited."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Left, Length
from django.http import HttpRequest

from documents.admin.documents import EXCERPT, LISTED
from documents.admin.progress import attempt_bar
from documents.models import ChunkVector, DocumentChunk, DocumentPage, IngestionAttempt
from embeddings.admin import vector_facts, vector_state, windows_of
from soat.tenancy.staff.base import DeskAdmin
from soat.tenancy.staff.filters import RelatedFilter, YesNoFilter
from soat.tenancy.staff.markup import NONE, Table, Tone, badge, block, excerpt, link, moment, once
from soat.tenancy.staff.rights import ReadOnly, TenantRows
from soat.tenancy.staff.theme import ChoicesFilter

MAX_SHOWN = 50_000
"""Characters of a text that a page shows: a page of a plain-text file is the whole of it."""


class CountsFilter(YesNoFilter):
    """What search sees, or what an earlier or unfinished run left."""

    title = "in search"
    parameter_name = "counts"
    yes = "Searchable"
    no = "Of another run"
    document: ClassVar[str]

    def narrowed(self, rows: QuerySet[Any], *, holds: bool) -> QuerySet[Any]:
        """Return the rows of one kind."""
        settled = Q(**{f"{self.document}__settled_attempt": F("attempt")})
        return rows.filter(settled) if holds else rows.exclude(settled)


class PageCountsFilter(CountsFilter):
    """The same for pages."""

    document = "attempt__document"


class ChunkCountsFilter(CountsFilter):
    """The same for chunks."""

    document = "document"


class WaitingChunkFilter(YesNoFilter):
    """Chunks that wait for their vector, or those that do not."""

    title = "vector"
    parameter_name = "waiting"
    yes = "Waiting for its vector"
    no = "Not waiting"

    def narrowed(self, rows: QuerySet[Any], *, holds: bool) -> QuerySet[Any]:
        """Return the rows of one kind."""
        return rows.filter(awaits_vector=holds)


def bounded_text(rows: QuerySet[Any], field: str) -> str:
    """Return the text of the one row as far as a page shows it."""
    text, length = rows.values_list(Left(field, MAX_SHOWN), Length(field)).get()
    rest = f"\n… and {length - MAX_SHOWN:,} characters more" if length > MAX_SHOWN else ""
    return block(text + rest)


@admin.register(IngestionAttempt)
class IngestionAttemptAdmin(TenantRows, ReadOnly, DeskAdmin):
    """Runs of ingestion."""

    list_display = ("__str__", "shown_document", "shown_progress", "shown_created", "shown_finished")
    list_select_related = ("document",)
    list_filter = (("state", ChoicesFilter), ("document", RelatedFilter), ("project", RelatedFilter))
    search_fields = ("error",)
    search_help_text = "Part of the document's path, or an id"
    id_lookups: ClassVar = {"doc": "document__public_id", "proj": "project__public_id"}
    text_lookups = ("document__path", "document__title")
    fields = (
        "shown_document",
        "shown_progress",
        "shown_detail",
        "chunk_strategy",
        "chunk_size",
        "chunk_overlap",
        "total_pages",
        "total_chunks",
        "automatic",
        "worker",
        "created_at",
        "claimed_at",
        "progress_at",
        "finished_at",
    )

    @admin.display(description="document")
    def shown_document(self, attempt: IngestionAttempt) -> str:
        """Return a link to the document."""
        return link(attempt.document)

    @admin.display(description="state", ordering="state")
    def shown_progress(self, attempt: IngestionAttempt) -> str:
        """Return the bar."""
        return attempt_bar(attempt)

    @admin.display(description="what it said")
    def shown_detail(self, attempt: IngestionAttempt) -> str:
        """Return the reason of a failure, and the warnings."""
        said = [attempt.error, attempt.error_detail, *(str(warning) for warning in attempt.warnings)]
        return "\n".join(text for text in said if text) or "Nothing to note."

    @admin.display(description="queued", ordering="id")
    def shown_created(self, attempt: IngestionAttempt) -> str:
        """Return when the run was queued."""
        return moment(attempt.created_at)

    @admin.display(description="finished", ordering="finished_at")
    def shown_finished(self, attempt: IngestionAttempt) -> str:
        """Return when the run ended."""
        return moment(attempt.finished_at)


@admin.register(DocumentPage)
class DocumentPageAdmin(TenantRows, ReadOnly, DeskAdmin):
    """The pages of documents as they were read."""

    list_display = ("__str__", "shown_document", "shown_beginning")
    list_select_related = ("attempt__document",)
    list_filter = (("attempt__document", RelatedFilter), ("project", RelatedFilter), PageCountsFilter)
    search_fields = ("number",)
    search_help_text = "A document's id; within one document words of the text"
    id_lookups: ClassVar = {"doc": "attempt__document__public_id", "proj": "project__public_id"}
    fields = ("shown_document", "number", "shown_counts", "shown_text")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the pages without their texts, which may be whole files."""
        rows: QuerySet[Any] = super().get_queryset(request).annotate(beginning=Left("text", EXCERPT))
        return rows.defer("text")

    def found_by(self, request: HttpRequest, word: str) -> Q:
        """Look into the texts of one document; those of all are too many."""
        within = "attempt__document__id__exact" in request.GET
        return super().found_by(request, word) | (Q(text__icontains=word) if within else Q(pk__in=()))

    @admin.display(description="document")
    def shown_document(self, page: DocumentPage) -> str:
        """Return a link to the document."""
        return link(page.attempt.document)

    @admin.display(description="begins with")
    def shown_beginning(self, page: Any) -> str:
        """Return the beginning of the text."""
        return excerpt(page.beginning, 120)

    @admin.display(description="in search")
    def shown_counts(self, page: DocumentPage) -> str:
        """Tell whether the page is of the run that counts."""
        return _counts(page.attempt.document.settled_attempt_id == page.attempt_id)

    @admin.display(description="text")
    @once
    def shown_text(self, page: DocumentPage) -> str:
        """Return the text."""
        return bounded_text(DocumentPage.objects.filter(pk=page.pk), "text")

    def related_tables(self, request: HttpRequest, obj: DocumentPage) -> list[Table]:
        """Return the chunks that begin on the page, and links to the pages beside it."""
        beyond = DocumentPage.objects.filter(attempt=obj.attempt_id, index__gt=obj.index).defer("text")
        following = beyond.order_by("index").first()
        chunks: Any = DocumentChunk.objects.filter(attempt=obj.attempt_id, start__gte=obj.start).order_by("index")
        if following is not None:
            chunks = chunks.filter(start__lt=following.start)
        chunks = chunks.annotate(beginning=Left("content", EXCERPT), windows=windows_of(ChunkVector, "chunk"))
        rows = [
            (
                link(chunk, str(chunk)),
                excerpt(chunk.beginning, 140),
                vector_state(chunk.windows, awaits=chunk.awaits_vector),
            )
            for chunk in chunks.defer("content")[:LISTED]
        ]
        beside = DocumentPage.objects.filter(attempt=obj.attempt_id, index__in=[obj.index - 1, obj.index + 1])
        pages = [(link(page, str(page)),) for page in beside.order_by("index").defer("text")]
        return [
            Table("Chunks that begin on this page", ("Chunk", "Begins with", "Vector"), rows),
            Table("Pages beside it", ("Page",), pages),
        ]


@admin.register(DocumentChunk)
class DocumentChunkAdmin(TenantRows, ReadOnly, DeskAdmin):
    """The chunks of documents: what is embedded and found."""

    list_display = ("__str__", "shown_document", "shown_page", "shown_beginning", "shown_vector", "shown_counts")
    list_select_related = ("document",)
    list_filter = (("document", RelatedFilter), ("project", RelatedFilter), ChunkCountsFilter, WaitingChunkFilter)
    search_help_text = "An id; within one document words of the text"
    id_lookups: ClassVar = {
        "dchunk": "public_id",
        "doc": "document__public_id",
        "proj": "project__public_id",
        "file": "document__file__public_id",
    }
    fields = (
        "shown_document",
        "shown_start",
        "shown_counts",
        "shown_vectors",
        "public_id",
        "start",
        "end",
        "shown_text",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the chunks without their texts, with the number of their vectors."""
        shown = {"windows": windows_of(ChunkVector, "chunk"), "beginning": Left("content", EXCERPT)}
        rows: QuerySet[Any] = super().get_queryset(request).annotate(**shown)
        return rows.defer("content")

    def found_by(self, request: HttpRequest, word: str) -> Q:
        """Look into the texts of one document; those of all are too many."""
        within = "document__id__exact" in request.GET
        return super().found_by(request, word) | (Q(content__icontains=word) if within else Q(pk__in=()))

    @admin.display(description="document")
    def shown_document(self, chunk: DocumentChunk) -> str:
        """Return a link to the document."""
        return link(chunk.document)

    @admin.display(description="page")
    def shown_page(self, chunk: DocumentChunk) -> str:
        """Return the number of the page on which the chunk begins."""
        return NONE if chunk.page is None else str(chunk.page)

    @admin.display(description="begins on")
    @once
    def shown_start(self, chunk: DocumentChunk) -> str:
        """Return a link to the page on which the chunk begins."""
        pages = DocumentPage.objects.filter(attempt=chunk.attempt_id, start__lte=chunk.start).defer("text")
        return link(pages.order_by("-index").first())

    @admin.display(description="begins with")
    def shown_beginning(self, chunk: Any) -> str:
        """Return the beginning of the text."""
        return excerpt(chunk.beginning, 120)

    @admin.display(description="vector")
    def shown_vector(self, chunk: DocumentChunk) -> str:
        """Return the state of the vector in a list."""
        return vector_state(getattr(chunk, "windows", None), awaits=chunk.awaits_vector)

    @admin.display(description="vectors")
    @once
    def shown_vectors(self, chunk: DocumentChunk) -> str:
        """Return what can be said of the vectors."""
        return vector_facts(ChunkVector, awaits=chunk.awaits_vector, chunk_id=chunk.pk)

    @admin.display(description="in search")
    def shown_counts(self, chunk: DocumentChunk) -> str:
        """Tell whether the chunk is of the run that counts."""
        return _counts(chunk.document.settled_attempt_id == chunk.attempt_id)

    @admin.display(description="text")
    @once
    def shown_text(self, chunk: DocumentChunk) -> str:
        """Return the text."""
        return bounded_text(DocumentChunk.objects.filter(pk=chunk.pk), "content")

    def related_tables(self, request: HttpRequest, obj: DocumentChunk) -> list[Table]:
        """Return the chunks beside it."""
        beside = DocumentChunk.objects.filter(attempt=obj.attempt_id, index__in=[obj.index - 1, obj.index + 1])
        rows = [(link(chunk, str(chunk)),) for chunk in beside.order_by("index").defer("content")]
        return [Table("Chunks beside it", ("Chunk",), rows)]


def _counts(counts: bool) -> str:
    return badge("searchable", Tone.GOOD) if counts else badge("of another run", Tone.PLAIN)
