"""REST of uploads: as a form, as base64 in JSON, and with a token instead of a credential."""

import base64
import binascii
import io
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.utils import OpenApiResponse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from soat.core.body import validated
from soat.core.errors import TooLarge, ValidationFailed
from soat.core.models import wire_time
from soat.core.openapi import ErrorEnvelope, operation
from soat.core.parsers import BoundedFormParser, StrictJSONParser
from soat.files import services, upload_tokens
from soat.files.api import schemas
from soat.files.api.forms import BoundedMultiPartParser, SentFile
from soat.files.models import File, UploadToken
from soat.files.representations import represent_file
from soat.files.services import FALLBACK_NAME, NewFile
from soat.tenancy.viewsets import ResourceViewSet


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
        upload, new = _from_form(body)
        self.access.require(File(project=project, path=new.path))
        file = services.create_file(project=project, new=new, source=upload, size=upload.size or 0)
        return Response(represent_file(file), status=201)


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
        content, new = _from_json(body)
        self.access.require(File(project=project, path=new.path))
        file = services.create_file(project=project, new=new, source=io.BytesIO(content), size=len(content))
        return Response(represent_file(file), status=201)


class PresignedUploadViewSet(ResourceViewSet):
    """Permissions to upload one file without a credential."""

    @operation(
        "createPresignedUrl",
        action="files:UploadFile",
        tag="files",
        request=schemas.PresignedUrl,
        responses={201: schemas.PresignedUrlRecord},
    )
    def create(self, request: Request) -> Response:
        """Make a token that is good for one upload within 15 minutes."""
        project, body = self.target_project_and_body(schemas.PresignedUrl)
        filename, declared = body.get("filename"), body.get("content_type")
        new = services.described_file(prefix=body.get("prefix"), filename=filename, declared=declared)
        self.access.require(File(project=project, path=new.path))
        token, expires_at = upload_tokens.issue_upload_token(
            caller=self.caller, project=project, prefix=new.prefix, filename=filename, content_type=declared
        )
        path = f"/api/v1/files/upload/{token}"
        url = f"{settings.BASE_URL}{path}" if settings.BASE_URL else request.build_absolute_uri(path)
        return Response({"upload_token": token, "upload_url": url, "expires_at": wire_time(expires_at)}, status=201)


class TokenUploadViewSet(ResourceViewSet):
    """Uploads with a token, which says where the file goes."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    parser_classes = (BoundedMultiPartParser, StrictJSONParser, BoundedFormParser)

    @operation(
        "uploadFileWithToken",
        action=None,
        tag="files",
        request={
            "multipart/form-data": schemas.UploadWithTokenForm,
            "application/json": schemas.UploadWithToken,
            "application/x-www-form-urlencoded": schemas.UploadWithToken,
        },
        responses={
            201: schemas.FileRecord,
            410: OpenApiResponse(ErrorEnvelope, "The token has expired (`UPLOAD_TOKEN_EXPIRED`)."),
        },
    )
    def create(self, request: Request, token: str) -> Response:
        """Store a file as a form or as base64 in JSON. An upload that fails leaves the token good."""
        found = upload_tokens.usable_token(token)
        # From here on it is the maker's request: with their rights of now, and under their name in the audit trail.
        request.user, request.auth = upload_tokens.maker_of(found)
        source: IO[bytes]
        if (request.content_type or "").startswith("multipart/"):
            upload, new = _from_form(self.body(schemas.UploadWithTokenForm), found)
            source, size = upload, upload.size or 0
        else:
            content, new = _from_json(self.body(schemas.UploadWithToken), found)
            source, size = io.BytesIO(content), len(content)
        self.caller.access("files:UploadFile").require(File(project=found.project, path=new.path))
        file = services.create_file(
            project=found.project, new=new, source=source, size=size, claim=lambda: upload_tokens.use_token(found)
        )
        return Response(represent_file(file), status=201)


def _from_form(body: dict[str, Any], token: UploadToken | None = None) -> "tuple[Any, NewFile]":
    """Return the file part of a form and what is known of it. Raises ``TooLarge`` and ``ValidationFailed``."""
    upload: SentFile = body["file"]
    _refuse_large(upload.size or 0)
    head = {"filename": upload.sent_name or FALLBACK_NAME, "content_type": _declared_type(upload)}
    part = validated(schemas.UploadedPart, head)
    return upload, _new_file(body, body.get("filename") or part["filename"], part["content_type"], token)


def _from_json(body: dict[str, Any], token: UploadToken | None = None) -> tuple[bytes, NewFile]:
    """Return the decoded content and what is known of it. Raises ``TooLarge`` and ``ValidationFailed``."""
    try:
        content = base64.b64decode("".join(body["content"].split()), validate=True)
    except (binascii.Error, ValueError):
        message = "must be base64."
        raise ValidationFailed(f"content {message}", meta={"fields": {"content": message}}) from None
    _refuse_large(len(content))
    return content, _new_file(body, body.get("filename"), body.get("content_type"), token)


def _declared_type(upload: "UploadedFile[bytes]") -> str | None:
    """Return the type that the part declares, with its charset, which Django leaves as it came: in bytes."""
    charset: Any = upload.charset
    if isinstance(charset, bytes):
        charset = charset.decode("ascii", "replace")
    return "; charset=".join(filter(None, (upload.content_type, charset))) or None


def _refuse_large(size: int) -> None:
    if size > settings.MAX_UPLOAD_BYTES:
        raise TooLarge(f"A file may be at most {settings.MAX_UPLOAD_BYTES} bytes.")


def _new_file(body: dict[str, Any], filename: str | None, declared: str | None, token: UploadToken | None) -> NewFile:
    prefix = body.get("prefix")
    if token is not None:
        prefix = token.prefix
        filename = token.filename or filename
        declared = token.content_type or declared
    return services.described_file(prefix=prefix, filename=filename, declared=declared, metadata=body.get("metadata"))
