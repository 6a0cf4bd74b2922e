"""Files in the admin."""

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from soat.core.body import validated
from soat.core.errors import SoatError, TooLarge, ValidationFailed
from soat.files import services
from soat.files.api.schemas import UploadedPart, UploadFile
from soat.files.models import File
from soat.files.storage import open_bytes
from soat.tenancy.models import Project
from soat.tenancy.staff.base import ServiceAdmin
from soat.tenancy.staff.filters import RelatedFilter, TagFilter
from soat.tenancy.staff.forms import ServiceForm
from soat.tenancy.staff.markup import NONE, anchor, block, change_url, code, link, moment, size
from soat.tenancy.staff.rights import TenantRows
from soat.tenancy.staff.theme import FileInput, TextInput


def store_upload(
    *,
    project: Project,
    upload: "UploadedFile[bytes]",
    prefix: str | None,
    filename: str | None,
    metadata: str | None = None,
) -> File:
    """Store the file part of a form as the API does. Raises ``SoatError``."""
    if (upload.size or 0) > settings.MAX_UPLOAD_BYTES:
        message = f"A file may be at most {settings.MAX_UPLOAD_BYTES:,} bytes."
        raise TooLarge(message, meta={"fields": {"upload": message}})
    try:
        part = validated(UploadedPart, {"filename": filename or upload.name, "content_type": upload.content_type})
    except ValidationFailed as error:
        raise ValidationFailed(error.message, meta={"fields": {"upload": error.message}}) from error
    new = services.described_file(
        prefix=prefix, filename=part["filename"], declared=part["content_type"], metadata=metadata
    )
    return services.create_file(project=project, new=new, source=upload, size=upload.size or 0)


class FileForm(ServiceForm):
    """An upload. What is stored never changes: another content is another file."""

    schema = UploadFile

    upload = forms.FileField(widget=FileInput, label="File", allow_empty_file=True)
    prefix = forms.CharField(  # type: ignore[assignment]  # (a form has an attribute of this name, which stays)
        required=False, widget=TextInput, label="Folder", help_text="Such as /manuals; empty: the root."
    )
    filename = forms.CharField(
        required=False, widget=TextInput, label="Name", help_text="Empty: the name that the file has."
    )


@admin.register(File)
class FileAdmin(TenantRows, ServiceAdmin):
    """Files: uploaded, looked at, downloaded, deleted."""

    form = FileForm
    list_display = ("shown_name", "content_type", "shown_size", "project", "shown_document", "shown_created")
    list_select_related = ("project", "document")
    list_filter = (("project", RelatedFilter), TagFilter)
    search_help_text = "Part of the path or the name, or an id"
    id_lookups: ClassVar = {"file": "public_id", "proj": "project__public_id", "doc": "document__public_id"}
    text_lookups = ("path", "filename")
    autocomplete_fields = ("project",)
    record = (
        "public_id",
        "shown_project",
        "path",
        "shown_download",
        "content_type",
        "shown_size",
        "shown_document",
        "shown_metadata",
        "tags",
        "created_at",
        "updated_at",
    )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the upload form, or the record of a file that is there."""
        return ("project", "upload", "prefix", "filename", "metadata") if obj is None else self.record

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: a file is what was uploaded."""
        return False

    @admin.display(description="file", ordering="path")
    def shown_name(self, file: File) -> str:
        """Return the path, or the name of a file without one."""
        return code(file.path or file.filename)

    @admin.display(description="size", ordering="size")
    def shown_size(self, file: File) -> str:
        """Return the size as people read it."""
        return size(file.size)

    @admin.display(description="document")
    def shown_document(self, file: File) -> str:
        """Return a link to the document that stands on the file, or to making one."""
        document = getattr(file, "document", None)
        if document is not None:
            return link(document, document.title or document)
        ingest = reverse("admin:documents_document_add")
        return anchor(f"{ingest}?project={file.project_id}&file={file.pk}", "Ingest")

    @admin.display(description="content")
    def shown_download(self, file: File) -> str:
        """Return a link to the bytes."""
        return anchor(reverse("admin:files_file_download", args=[file.pk]), f"Download {file.filename}")

    @admin.display(description="metadata")
    def shown_metadata(self, file: File) -> str:
        """Return the metadata as it was given."""
        return block(file.metadata) if file.metadata else NONE

    @admin.display(description="created", ordering="id")
    def shown_created(self, file: File) -> str:
        """Return when the file came in."""
        return moment(file.created_at)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what cannot be edited."""
        return () if obj is None else self.record

    def get_urls(self) -> list[URLPattern]:
        """Add the download."""
        download = self.admin_site.admin_view(self.download)
        return [path("<path:object_id>/download/", download, name="files_file_download"), *super().get_urls()]

    def download(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Stream the bytes of a file that the user may see."""
        file = self.get_object(request, object_id)
        if file is None or not self.has_view_permission(request, file):
            return self.unknown(request, object_id)
        try:
            handle = open_bytes(file.storage_key)
        except (FileNotFoundError, SoatError) as error:
            messages.error(request, getattr(error, "message", "The bytes of this file are gone."))
            return HttpResponseRedirect(change_url(file))
        response = FileResponse(handle, as_attachment=True, filename=file.filename, content_type=file.content_type)
        response["X-Content-Type-Options"] = "nosniff"
        response["Cache-Control"] = "private, no-store"
        return response

    def create(self, request: HttpRequest, form: Any) -> File:
        """Store the upload."""
        return store_upload(
            project=form.cleaned_data["project"],
            upload=form.cleaned_data["upload"],
            prefix=form.value("prefix"),
            filename=form.value("filename"),
            metadata=form.value("metadata"),
        )

    def remove(self, obj: File) -> None:
        """Delete the file and its bytes. Raises ``Conflict`` while a document stands on it."""
        services.delete_file(obj)

    def deletion_obstacles(self, obj: File) -> list[Any]:
        """Name the document that stands on the file."""
        document = getattr(obj, "document", None)
        return [format_html("document {}", link(document))] if document is not None else []

    def deletion_effects(self, obj: File) -> list[str]:
        """Say that the bytes go."""
        return [f"its {size(obj.size)} in the file storage"]
