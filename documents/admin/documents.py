"""Documents in the admin."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from documents import services, waiting
from documents.admin.forms import CHUNKING, DocumentForm, NewDocumentForm
from documents.admin.progress import attempt_bar, document_bar, live_bar
from documents.models import ChunkVector, Document
from documents.services import NewDocument
from embeddings.admin import vector_state, windows_of
from soat.core.errors import SoatError
from soat.engine.chunk import ChunkRequest, ChunkStrategy
from soat.engine.match import split_path
from soat.files.admin import store_upload
from soat.files.models import File
from soat.files.services import delete_file
from soat.tenancy.staff.base import ServiceAdmin
from soat.tenancy.staff.filters import RelatedFilter, TagFilter
from soat.tenancy.staff.markup import Table, anchor, change_url, code, excerpt, link, list_url, moment, size
from soat.tenancy.staff.rights import TenantRows
from soat.tenancy.staff.theme import ChoicesFilter

LISTED = 20
EXCERPT = 300
INGEST_BUTTON = "documents_document_save_and_ingest"


class PathTagFilter(TagFilter):
    """Documents with a tag, written ``name=value``."""

    title = "tag (name=value)"

    def stored(self, tag: str) -> Any:
        """Return the object that the tags must hold."""
        name, _, value = tag.partition("=")
        return {name.strip(): value.strip()}


@admin.register(Document)
class DocumentAdmin(TenantRows, ServiceAdmin):
    """Documents, with their ingestion as a bar."""

    list_display = ("shown_name", "shown_title", "project", "shown_progress", "shown_file", "shown_created")
    list_select_related = ("project", "file", "current_attempt", "settled_attempt")
    list_filter = (
        ("project", RelatedFilter),
        ("status", ChoicesFilter),
        ("chunk_strategy", ChoicesFilter),
        PathTagFilter,
    )
    search_help_text = "Part of path or title, or an id"
    id_lookups: ClassVar = {"doc": "public_id", "file": "file__public_id", "proj": "project__public_id"}
    text_lookups = ("path", "title")
    autocomplete_fields = ("project", "file")
    actions = ("ingest_again", "delete_selected")
    actions_submit_line = ("save_and_ingest",)
    record = (
        "shown_progress_live",
        "shown_detail",
        "shown_project",
        "shown_file_record",
        "public_id",
        "created_at",
        "updated_at",
    )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form with or without the three sources."""
        kwargs["form"] = NewDocumentForm if obj is None else DocumentForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the sources of a new document, or the record of one that is there."""
        about = ("path", "title", "tags", "metadata")
        cut = ("How it is cut", {"fields": CHUNKING})
        if obj is None:
            source = (None, {"fields": ("project", "upload", "file", "content")})
            return (source, ("About it", {"fields": about}), cut)
        return (("Ingestion", {"fields": self.record}), ("About it", {"fields": about}), cut)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what cannot be edited."""
        return () if obj is None else self.record

    @admin.display(description="document", ordering="path")
    def shown_name(self, document: Document) -> str:
        """Return the path, or the id of a document without one."""
        return code(document.path or document.public_id)

    @admin.display(description="title", ordering="title")
    def shown_title(self, document: Document) -> str:
        """Return the title."""
        return excerpt(document.title or "", 60)

    @admin.display(description="ingestion", ordering="status")
    def shown_progress(self, document: Document) -> str:
        """Return the bar."""
        return document_bar(document)

    @admin.display(description="state")
    def shown_progress_live(self, document: Document) -> str:
        """Return the bar that keeps itself up to date."""
        return live_bar(document, reverse("admin:documents_document_progress", args=[document.pk]))

    @admin.display(description="what the last run said")
    def shown_detail(self, document: Document) -> str:
        """Return why the latest run failed, and its warnings."""
        attempt = document.current_attempt
        if attempt is None:
            return ""
        said = [attempt.error_detail, *(str(warning) for warning in attempt.warnings)]
        return "\n".join(text for text in said if text) or "Nothing to note."

    @admin.display(description="file")
    def shown_file(self, document: Document) -> str:
        """Return a link to the file."""
        return link(document.file, excerpt(document.file.filename, 40))

    @admin.display(description="file")
    def shown_file_record(self, document: Document) -> str:
        """Return links to the file and its bytes."""
        file = document.file
        download = anchor(reverse("admin:files_file_download", args=[file.pk]), "download")
        return format_html("{} ({}, {}) {}", link(file, file.filename), file.content_type, size(file.size), download)

    @admin.display(description="created", ordering="id")
    def shown_created(self, document: Document) -> str:
        """Return when the document was made."""
        return moment(document.created_at)

    def get_urls(self) -> list[URLPattern]:
        """Add the bar by itself."""
        progress = self.admin_site.admin_view(self.progress)
        return [path("<path:object_id>/progress/", progress, name="documents_document_progress"), *super().get_urls()]

    def progress(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the bar of a document that the user may see."""
        document = self.get_object(request, object_id)
        if document is None or not self.has_view_permission(request, document):
            return HttpResponse("", status=404)
        return HttpResponse(self.shown_progress_live(waiting.reread(document)))

    def create(self, request: HttpRequest, form: Any) -> Document:
        """Make the document of its one source."""
        if form.cleaned_data["content"]:
            return services.create_document(project=form.cleaned_data["project"], new=_new_text(form))
        if form.cleaned_data["file"] is not None:
            return _ingested(form, form.cleaned_data["file"])
        file = _stored(form)
        try:
            return _ingested(form, file)
        except SoatError:
            delete_file(file)
            raise

    def update(self, request: HttpRequest, form: Any) -> Document:
        """Change the document; with other chunk values, or when asked to, it is ingested again."""
        changes = form.changes()
        again = INGEST_BUTTON in request.POST
        recut = {name for name in CHUNKING if name in changes}
        about = {name: value for name, value in changes.items() if name not in CHUNKING}
        document = services.update_document(document=form.instance, changes=about) if about else form.instance
        if again or recut:
            document = services.reingest_document(document=document, chunking=form.chunking())
            messages.info(request, "The document is ingested again; what is searchable now stays so until it is done.")
        return document

    @admin.action(permissions=["change"], description="Save and ingest again")
    def save_and_ingest(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        """Be a button of the form: ``update`` does the work."""

    def response_change(self, request: HttpRequest, obj: Document) -> Any:
        """Stay on the page of a document that is ingested again: its bar is what one wants to see."""
        if INGEST_BUTTON in request.POST:
            return HttpResponseRedirect(change_url(obj))
        return super().response_change(request, obj)

    @admin.action(permissions=["change"], description="Ingest again")
    def ingest_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        """Queue a new run for each document, with its own chunk values."""

        def ingest(document: Document) -> None:
            own = ChunkRequest(
                strategy=ChunkStrategy(document.chunk_strategy),
                size=document.chunk_size,
                overlap=document.chunk_overlap,
            )
            services.reingest_document(document=document, chunking=own)

        done = self.for_each(request, queryset, ingest)
        messages.info(request, f"{done:,} {self.named(done)} queued to be ingested again.")

    def remove(self, obj: Document) -> None:
        """Delete the document with its chunks."""
        services.delete_document(document=obj)

    def deletion_effects(self, obj: Document) -> list[str]:
        """Say what goes with the document."""
        chunks = obj.settled_attempt.chunk_count if obj.settled_attempt else 0
        file = "the file, which it made itself" if obj.owns_file else "not the file, which stays"
        return [f"{chunks:,} chunks with their vectors", file]

    def related_tables(self, request: HttpRequest, obj: Document) -> list[Table]:
        """Return the pages and chunks that count, and the runs."""
        return [_pages(obj), _chunks(obj), _runs(obj)]


def _new_text(form: Any) -> NewDocument:
    return NewDocument(
        content=form.cleaned_data["content"],
        path=form.value("path"),
        filename=None,
        title=form.value("title"),
        metadata=form.value("metadata"),
        tags=form.value("tags"),
        chunking=form.chunking(),
    )


def _stored(form: Any) -> File:
    folder, name = split_path(form.value("path")) if form.value("path") else (None, None)
    return store_upload(
        project=form.cleaned_data["project"], upload=form.cleaned_data["upload"], prefix=folder, filename=name
    )


def _ingested(form: Any, file: File) -> Document:
    """Queue the ingestion of a file, with the path, title and metadata of the form."""
    document = services.ingest_document(
        project=form.cleaned_data["project"],
        file=file,
        path_prefix=None,
        tags=form.value("tags"),
        chunking=form.chunking(),
    )
    given = {name: form.value(name) for name in ("path", "title", "metadata") if form.value(name) is not None}
    if not given:
        return document
    try:
        return services.update_document(document=document, changes=given)
    except SoatError:
        services.delete_document(document=document)
        raise


def _pages(document: Document) -> Table:
    attempt = document.settled_attempt
    pages: Any = []
    if attempt is not None:
        pages = attempt.pages.order_by("index").annotate(beginning=Left("text", EXCERPT)).defer("text")
    rows = [(link(page, str(page)), excerpt(page.beginning, 140)) for page in pages[:LISTED]]
    more = ("All pages", list_url("documents_documentpage", attempt__document__id__exact=document.pk, counts="yes"))
    return Table("Pages", ("Page", "Begins with"), rows, more, empty="No page has been read yet.")


def _chunks(document: Document) -> Table:
    attempt = document.settled_attempt
    chunks: Any = []
    if attempt is not None:
        chunks = attempt.chunks.order_by("index").annotate(
            beginning=Left("content", EXCERPT), windows=windows_of(ChunkVector, "chunk")
        )
        chunks = chunks.defer("content")
    rows = [
        (
            link(chunk, str(chunk)),
            f"page {chunk.page}" if chunk.page else "",
            excerpt(chunk.beginning, 140),
            vector_state(chunk.windows, awaits=chunk.awaits_vector),
        )
        for chunk in chunks[:LISTED]
    ]
    more = ("All chunks", list_url("documents_documentchunk", document__id__exact=document.pk, counts="yes"))
    headers = ("Chunk", "Page", "Begins with", "Vector")
    return Table("Chunks", headers, rows, more, empty="Nothing of this document can be found yet.")


def _runs(document: Document) -> Table:
    runs = document.attempts.order_by("-number")[:LISTED]
    rows = [
        (link(run, f"run {run.number}"), attempt_bar(run), moment(run.created_at), moment(run.finished_at))
        for run in runs
    ]
    more = ("All runs", list_url("documents_ingestionattempt", document__id__exact=document.pk))
    return Table("Runs of ingestion", ("Run", "State", "Queued", "Finished"), rows, more)
