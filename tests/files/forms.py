"""Uploads as a client makes them."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

UPLOAD = "/api/v1/files/upload"
BASE64 = "/api/v1/files/upload/base64"
BOUNDARY = "tests-boundary"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def upload(
    client: Any, content: bytes = b"hello", name: str = "notes.txt", kind: str = "text/plain", **fields: Any
) -> Any:
    """Upload a file as a form."""
    return client.post(UPLOAD, {"file": SimpleUploadedFile(name, content, kind), **fields}, format="multipart")


def post_raw(client: Any, path: str, body: bytes, content_type: str, **extra: Any) -> Any:
    """Post a body as it is."""
    return client.generic("POST", path, body, content_type=content_type, **extra)


def form(*parts: tuple[str, bytes]) -> bytes:
    """Return a multipart body, its parts given by the lines of their heads and their content."""
    lines = [f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + content + b"\r\n" for head, content in parts]
    return b"".join(lines) + f"--{BOUNDARY}--\r\n".encode()


def file_part(filename: str, *headers: str, content: bytes = b"hello") -> tuple[str, bytes]:
    """Return a file part with this name as it stands on the wire."""
    head = f'Content-Disposition: form-data; name="file"; filename="{filename}"'
    return "\r\n".join((head, *headers)), content


def post_form(client: Any, *parts: tuple[str, bytes], **extra: Any) -> Any:
    """Post a multipart body made by hand."""
    return post_raw(client, UPLOAD, form(*parts), MULTIPART, **extra)
