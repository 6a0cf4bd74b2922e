"""REST of files."""

import base64
import binascii
import io
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from soat.core.body import validated
from soat.core.errors import NotFound, TooLarge, ValidationFailed
from soat.core.openapi import PAGE_QUERY, PROJECT_QUERY, operation
from soat.core.pages import ProjectPageQuery, paged
from soat.core.parsers import announced_size, require_whole
from soat.engine.match import join_path
from soat.files import services
from soat.files.api import schemas
from soat.files.models import File
from soat.files.querysets import readable_file
from soat.files.representations import represent_file
from soat.files.services import NewFile
from soat.files.storage import stream_bytes
from soat.tenancy.viewsets import ResourceViewSet

FALLBACK_NAME = "file"


class CountedStream:
    """A stream that knows how many bytes were read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        """Read as the stream does."""
        block = self._stream.read(size)
        self.size += len(block)
        return block


class BoundedMultiPartParser(MultiPartParser):
    """Multipart forms that announce at most ``MAX_UPLOAD_BYTES`` (and some room for the other fields)."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the form. Raises ``TooLarge`` before a byte is read, ``ParseError`` for an upload broken off."""
        if announced_size(parser_context) > settings.MAX_UPLOAD_BYTES + settings.MAX_REQUEST_BYTES:
            raise TooLarge(f"A file may be at most {settings.MAX_UPLOAD_BYTES} bytes.")
        counted = CountedStream(stream)
        form = super().parse(counted, media_type, parser_context)  # type: ignore[arg-type]  # it only reads
        require_whole(counted.size, parser_context)
        return form


class FileViewSet(ResourceViewSet):
    """Files."""

    @operation(
        "listFiles",
        action="files:GetFile",
        tag="files",
        query=(PROJECT_QUERY, *PAGE_QUERY),
        responses={200: schemas.FilePage},
    )
    def list(self, request: Request) -> Response:
        """List files, newest first."""
        files = File.objects.select_related("project").order_by("-created_at", "-id")
        reach = self.listed()
        return Response(paged(reach.of(File).filter(files), self.query(ProjectPageQuery), represent_file))

    @operation("getFile", action="files:GetFile", tag="files", responses={200: schemas.FileRecord})
    def retrieve(self, request: Request, file_id: str) -> Response:
        """Return a file's record."""
        return Response(represent_file(readable_file(self.access, file_id)))

    @operation("deleteFile", action="files:DeleteFile", tag="files", responses={204: None})
    def destroy(self, request: Request, file_id: str) -> Response:
        """Delete a file and its bytes."""
        services.delete_file(readable_file(self.access, file_id))
        return Response(status=204)

    @operation(
        "downloadFile",
        action="files:DownloadFile",
        tag="files",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def download(self, request: Request, file_id: str) -> FileResponse:
        """Stream the bytes."""
        file = readable_file(self.access, file_id)
        try:
            source, size = stream_bytes(file.storage_key)
        except FileNotFoundError:
            raise NotFound("The bytes of this file are gone.") from None
        response = FileResponse(source, as_attachment=True, filename=file.filename, content_type=file.content_type)
        response["Content-Length"] = str(size)
        response["X-Content-Type-Options"] = "nosniff"
        return response


class UploadViewSet(ResourceViewSet):
    """Uploads as a form."""

    parser_classes = (BoundedMultiPartParser,)

    @operation(
        "uploadFile",
        action="files:UploadFile",
        tag="files",
        request={"multipart/form-data": schemas.UploadFile},
        responses={201: schemas.FileRecord},
    )
    def create(self, request: Request) -> Response:
        """Store the file part of a form."""
        project, body = self.target_project_and_body(schemas.UploadFile)
        upload = body["file"]
        _refuse_large(upload.size)
        head = {"filename": upload.name or FALLBACK_NAME, "content_type": _declared_type(upload)}
        part = validated(schemas.UploadedPart, head)
        new = _new_file(body, body.get("filename") or part["filename"], part["content_type"])
        return Response(
            represent_file(services.create_file(project=project, new=new, source=upload, size=upload.size)), status=201
        )


class Base64UploadViewSet(ResourceViewSet):
    """Uploads as base64 in JSON."""

    @operation(
        "uploadFileBase64",
        action="files:UploadFile",
        tag="files",
        request=schemas.UploadFileBase64,
        responses={201: schemas.FileRecord},
    )
    def create(self, request: Request) -> Response:
        """Store the decoded ``content``."""
        project, body = self.target_project_and_body(schemas.UploadFileBase64)
        try:
            content = base64.b64decode("".join(body["content"].split()), validate=True)
        except (binascii.Error, ValueError):
            message = "must be base64."
            raise ValidationFailed(f"content {message}", meta={"fields": {"content": message}}) from None
        _refuse_large(len(content))
        new = _new_file(body, body.get("filename") or FALLBACK_NAME, body.get("content_type"))
        file = services.create_file(project=project, new=new, source=io.BytesIO(content), size=len(content))
        return Response(represent_file(file), status=201)


def _declared_type(upload: "UploadedFile[bytes]") -> str | None:
    """Return the type that the part declares, with its charset, which Django leaves as it came: in bytes."""
    charset: Any = upload.charset
    if isinstance(charset, bytes):
        charset = charset.decode("ascii", "replace")
    return "; charset=".join(filter(None, (upload.content_type, charset))) or None


def _refuse_large(size: int) -> None:
    if size > settings.MAX_UPLOAD_BYTES:
        raise TooLarge(f"A file may be at most {settings.MAX_UPLOAD_BYTES} bytes.")


def _new_file(body: dict[str, Any], filename: str, declared: str | None) -> NewFile:
    prefix = body.get("prefix") or "/"
    return NewFile(
        prefix=prefix,
        filename=filename,
        path=join_path(prefix, filename),
        content_type=services.guess_content_type(filename, declared),
        metadata=body.get("metadata"),
    )
