"""REST of downloads: streams of all or some bytes, and base64 in JSON."""

import base64
import hashlib
from typing import Any

from django.conf import settings
from django.http import FileResponse, HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from soat.core.errors import NotFound, RangeRefused, TooLarge
from soat.core.openapi import ErrorEnvelope, operation
from soat.files.api import schemas
from soat.files.models import File
from soat.files.querysets import readable_file
from soat.files.ranges import ByteRange, RangeUnsatisfiable, parse_range
from soat.files.storage import StoredBytes
from soat.tenancy.viewsets import ResourceViewSet

RANGE_HEADER = OpenApiParameter("Range", str, OpenApiParameter.HEADER, description="One range, as in bytes=0-99.")


class DownloadViewSet(ResourceViewSet):
    """Downloads."""

    @operation(
        "downloadFile",
        action="files:DownloadFile",
        tag="files",
        headers=(RANGE_HEADER,),
        responses={
            (200, "*/*"): OpenApiTypes.BINARY,
            (206, "*/*"): OpenApiResponse(OpenApiTypes.BINARY, "The range that was asked for."),
            304: OpenApiResponse(description="The bytes are those of the `If-None-Match` header."),
            416: OpenApiResponse(ErrorEnvelope, "The file has no byte of the range."),
        },
    )
    def stream(self, request: Request, file_id: str) -> HttpResponseBase:
        """Stream the bytes, or one range of them."""
        file = readable_file(self.access, file_id)
        tag = _entity_tag(file)
        if tag in request.headers.get("If-None-Match", ""):
            return _with_headers(HttpResponse(status=304), tag)
        stored = _stored(file)
        try:
            part = _wanted_range(request, stored.size, tag)
        except RangeUnsatisfiable:
            stored.close()
            raise RangeRefused(
                f"The file has {stored.size} bytes, and none in this range.",
                headers={"Content-Range": f"bytes */{stored.size}", "Accept-Ranges": "bytes"},
            ) from None
        return _streamed(file, stored, part, tag)

    @operation("downloadFileBase64", action="files:DownloadFile", tag="files", responses={200: schemas.FileContent})
    def base64(self, request: Request, file_id: str) -> Response:
        """Return the bytes as base64; a file that is larger than a request may be is to be streamed."""
        file = readable_file(self.access, file_id)
        stored = _stored(file)
        if stored.size > settings.MAX_REQUEST_BYTES:
            stored.close()
            raise TooLarge(f"A file over {settings.MAX_REQUEST_BYTES} bytes is to be downloaded as it is.")
        source = stored.stream()
        try:
            content = base64.b64encode(source.read()).decode("ascii")
        finally:
            source.close()
        record = {"content": content, "filename": file.filename, "content_type": file.content_type}
        return Response({**record, "size": stored.size})


def _entity_tag(file: File) -> str:
    """Return the strong ETag: bytes never change under their key."""
    return f'"{hashlib.sha256(file.storage_key.encode()).hexdigest()[:32]}"'


def _stored(file: File) -> StoredBytes:
    try:
        return StoredBytes(file.storage_key)
    except FileNotFoundError:
        raise NotFound("There are no bytes of this file.") from None


def _wanted_range(request: Request, size: int, tag: str) -> ByteRange | None:
    if request.method != "GET" or request.headers.get("If-Range", tag).strip() != tag:
        return None
    return parse_range(request.headers.get("Range"), size)


def _streamed(file: File, stored: StoredBytes, part: ByteRange | None, tag: str) -> HttpResponseBase:
    response = FileResponse(
        stored.stream(part),
        as_attachment=True,
        filename=file.filename,
        content_type=file.content_type,
        status=206 if part else 200,
    )
    response["Content-Length"] = str(part.length if part else stored.size)
    if part:
        response["Content-Range"] = f"bytes {part.first}-{part.last}/{stored.size}"
    return _with_headers(response, tag)


def _with_headers(response: Any, tag: str) -> HttpResponseBase:
    """Add what every answer says: how to ask for a part, and that a browser must not run what it gets."""
    response["ETag"] = tag
    response["Accept-Ranges"] = "bytes"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["Cache-Control"] = "private, no-cache"
    answer: HttpResponseBase = response
    return answer
