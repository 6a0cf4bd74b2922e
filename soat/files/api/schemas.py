"""Bodies and records of files."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from rest_framework import serializers

from soat.core.body import Body
from soat.core.fields import Text
from soat.core.openapi import page_of
from soat.engine.match import PathRefused, canonical_path

MAX_METADATA_CHARACTERS = 65_536
MAX_PREFIX = 700


class FileName(Text):
    """A name without slashes and control characters."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=255, nfc=True, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Return the name. Raises ``serializers.ValidationError``."""
        name = super().to_internal_value(data)
        if "/" in name or "\\" in name or any(ord(character) < ord(" ") for character in name):
            raise serializers.ValidationError("must be a file name, without slashes and control characters.")
        return name


class PathText(Text):
    """A logical path: one leading slash, NFC. An empty one is refused unless ``blank``."""

    def __init__(self, *, max_length: int = 1024, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, nfc=True, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Return the canonical path. Raises ``serializers.ValidationError``."""
        path = super().to_internal_value(data)
        try:
            return canonical_path(path) if path.strip("/") else "/"
        except PathRefused as error:
            raise serializers.ValidationError(str(error)) from None


class ContentType(Text):
    """A media type such as ``text/plain; charset=utf-8``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=255, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Return the type. Raises ``serializers.ValidationError``."""
        value = super().to_internal_value(data).strip()
        kind, _, subtype = value.partition(";")[0].partition("/")
        if not kind or not subtype or not value.isascii() or not value.isprintable():
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
