"""Bodies and records of files."""

import re
import unicodedata
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from rest_framework import serializers

from soat.core.body import Body
from soat.core.fields import Text, WholeNumber
from soat.core.openapi import page_of
from soat.engine.match import PathRefused, canonical_path

MAX_METADATA_CHARACTERS = 65_536
MAX_PREFIX = 700
MAX_NAME = 255
MAX_PATH_BYTES = 2_600
"""In UTF-8: what an entry of PostgreSQL's index over project and path has room for."""

_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*(;.*)?")


class FileName(Text):
    """A name that every file system could have: no slashes, no control characters, not ``.`` or ``..``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_NAME, nfc=True, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Return the name. Raises ``serializers.ValidationError``."""
        name = super().to_internal_value(data)
        if "/" in name or "\\" in name or name in {".", ".."} or any(map(_is_control, name)):
            raise serializers.ValidationError("must be a file name, without slashes and control characters.")
        return name


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"


class PathText(Text):
    """A logical path: one leading slash, NFC. An empty one is refused unless ``blank``.

    One of at most ``MAX_PREFIX`` characters is a folder, which leaves room for a name.
    """

    def __init__(self, *, max_length: int = 1024, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, nfc=True, **kwargs)
        self.max_bytes = MAX_PATH_BYTES - (4 * MAX_NAME + 1 if max_length <= MAX_PREFIX else 0)

    def to_internal_value(self, data: Any) -> str:
        """Return the canonical path. Raises ``serializers.ValidationError``."""
        text = super().to_internal_value(data)
        try:
            path = canonical_path(text) if text.strip("/") else "/"
        except PathRefused as error:
            raise serializers.ValidationError(f"cannot be stored: {error}.") from None
        if len(path.encode()) > self.max_bytes:
            raise serializers.ValidationError(f"must be at most {self.max_bytes} bytes long in UTF-8.")
        return path


class ContentType(Text):
    """A media type such as ``text/plain; charset=utf-8``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=255, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Return the type. Raises ``serializers.ValidationError``."""
        value = super().to_internal_value(data).strip()
        if not _MEDIA_TYPE.fullmatch(value) or not value.isascii() or not value.isprintable():
            raise serializers.ValidationError("must be a media type such as text/plain.")
        return value


class Upload(serializers.FileField):
    """The bytes of a multipart upload; an empty file is a file."""

    def run_validation(self, data: Any = None) -> Any:
        """Return the uploaded file. Raises ``serializers.ValidationError``."""
        if not isinstance(data, UploadedFile):
            raise serializers.ValidationError("must be a file part of the form.")
        return data


class UploadedPart(Body):
    """What the header of a file part says."""

    filename = FileName()
    content_type = ContentType(required=False, allow_null=True)


class UploadFile(Body):
    """The multipart body of ``uploadFile``."""

    file = Upload()
    project_id = Text(max_length=64, required=False, allow_null=True)
    prefix = PathText(max_length=MAX_PREFIX, required=False, blank=True)
    filename = FileName(required=False)
    metadata = Text(max_length=MAX_METADATA_CHARACTERS, required=False, blank=True)


class UploadFileBase64(Body):
    """The body of ``uploadFileBase64``."""

    project_id = Text(max_length=64, required=False, allow_null=True)
    content = Text(max_length=2**31)
    prefix = PathText(max_length=MAX_PREFIX, required=False, blank=True)
    filename = FileName(required=False)
    content_type = ContentType(required=False)
    metadata = Text(max_length=MAX_METADATA_CHARACTERS, required=False, blank=True)


class FileCreate(Body):
    """The body of ``createFile``."""

    project_id = Text(max_length=64, required=False, allow_null=True)
    prefix = PathText(max_length=MAX_PREFIX, required=False, blank=True)
    filename = FileName(required=False)
    content_type = ContentType(required=False)
    size = WholeNumber(min_value=0, required=False, allow_null=True)
    metadata = Text(max_length=MAX_METADATA_CHARACTERS, required=False, blank=True)


class FileUpdate(Body):
    """The body of ``updateFileMetadata``."""

    metadata = Text(max_length=MAX_METADATA_CHARACTERS, required=False, blank=True, allow_null=True)
    prefix = PathText(max_length=MAX_PREFIX, required=False)
    filename = FileName(required=False)


class PresignedUrl(Body):
    """The body of ``createPresignedUrl``. What it leaves out, the upload says."""

    project_id = Text(max_length=64, required=False, allow_null=True)
    prefix = PathText(max_length=MAX_PREFIX, required=False, blank=True)
    filename = FileName(required=False)
    content_type = ContentType(required=False)


class PresignedUrlRecord(serializers.Serializer[None]):
    """Where to upload, and until when."""

    upload_token = serializers.CharField()
    upload_url = serializers.CharField()
    expires_at = serializers.DateTimeField()


class UploadWithTokenForm(Body):
    """The multipart body of ``uploadFileWithToken``."""

    file = Upload()
    metadata = Text(max_length=MAX_METADATA_CHARACTERS, required=False, blank=True)


class UploadWithToken(Body):
    """The JSON body of ``uploadFileWithToken``."""

    content = Text(max_length=2**31)
    filename = FileName(required=False)
    content_type = ContentType(required=False)
    metadata = Text(max_length=MAX_METADATA_CHARACTERS, required=False, blank=True)


class FileContent(serializers.Serializer[None]):
    """The bytes of a file."""

    content = serializers.CharField()
    filename = serializers.CharField()
    content_type = serializers.CharField()
    size = serializers.IntegerField(allow_null=True)


class FileRecord(serializers.Serializer[None]):
    """A file."""

    id = serializers.CharField()
    project_id = serializers.CharField()
    prefix = serializers.CharField()
    filename = serializers.CharField()
    path = serializers.CharField(allow_null=True)
    content_type = serializers.CharField(allow_null=True)
    size = serializers.IntegerField(allow_null=True)
    metadata = serializers.CharField(allow_null=True)
    tags = serializers.DictField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


FilePage = page_of("FilePage", FileRecord)
