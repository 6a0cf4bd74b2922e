"""Reading multipart forms: nothing of a text is replaced or dropped, and no client names a file of ours."""

import re
import tempfile
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import QueryDict
from django.http.multipartparser import MultiPartParser as DjangoMultiPartParser
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict
from rest_framework.exceptions import ParseError
from rest_framework.parsers import DataAndFiles, MultiPartParser

from soat.core.errors import TooLarge, ValidationFailed
from soat.core.parsers import announced_size, require_whole

_BYTE_BY_BYTE = "iso-8859-1"
_SEPARATORS = re.compile(r"[/\\]")


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


class SentFile(UploadedFile):  # type: ignore[type-arg]  # generic for the type checker only
    """The file part of a form. ``sent_name`` is its name as it was sent; ``name`` may be a shorter one."""

    sent_name: str


class SentFileHandler(FileUploadHandler):
    """Keep a file in memory while it is small, then in a temporary file that has no name.

    Django's own handlers cut long names, and fail where the ending of one is too long for a file system.
    """

    def __init__(self, request: Any = None) -> None:
        super().__init__(request)
        self._kept: list[IO[bytes]] = []

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin with the next file."""
        super().new_file(*args, **kwargs)
        kept = tempfile.SpooledTemporaryFile(  # noqa: SIM115  (the request closes it, or ``close``)
            max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE, dir=settings.FILE_UPLOAD_TEMP_DIR
        )
        self._kept.append(kept)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Take the next bytes of the file."""
        self._kept[-1].write(raw_data)

    def file_complete(self, file_size: int) -> SentFile:
        """Return the whole file."""
        self._kept[-1].seek(0)
        name = self.file_name or ""
        upload = SentFile(self._kept[-1], name, self.content_type, file_size, self.charset, self.content_type_extra)
        upload.sent_name = name
        return upload

    def close(self) -> None:
        """Let go of the files of a form that is refused."""
        for kept in self._kept:
            kept.close()


class LiteralForm(DjangoMultiPartParser):
    """Django's parser, but what is no text becomes lone surrogates, which no field takes.

    Django puts other characters in their place, and leaves out those of a name that cannot be printed.
    """

    def __init__(self, meta: Any, stream: Any, handlers: Any, charset: str) -> None:
        super().__init__(meta, stream, handlers, _BYTE_BY_BYTE)
        self._charset = charset

    def parse(self) -> tuple[QueryDict, MultiValueDict[str, Any]]:
        """Return the fields and the files. Raises ``MultiPartParserError`` and ``ValidationFailed``."""
        fields, files = super().parse()
        form = QueryDict(mutable=True, encoding=self._charset)
        for name, values in fields.lists():
            for value in values:
                form.appendlist(_text(name), _text(value, self._charset))
        return form, MultiValueDict({_text(name): parts for name, parts in files.lists()})

    def sanitize_file_name(self, file_name: str) -> str | None:
        """Return the last piece of a path, None for no name. Raises ``ValidationFailed`` for what is no text."""
        name = _SEPARATORS.split(_text(file_name))[-1]
        # Where the bytes behind ``filename*=`` are no text, this is what is left of them.
        if "\ufffd" in name:
            message = "must be text."
            raise ValidationFailed(f"filename {message}", meta={"fields": {"filename": message}})
        return None if name in {"", ".", ".."} else name


def _text(raw: str, charset: str = "utf-8") -> str:
    """Return a text that was read byte by byte. The heads of parts are UTF-8, whatever the form is."""
    return raw.encode(_BYTE_BY_BYTE).decode(charset, "surrogateescape")


class BoundedMultiPartParser(MultiPartParser):
    """Multipart forms that announce at most ``MAX_UPLOAD_BYTES`` (and some room for the other fields)."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the form. Raises ``TooLarge`` before a byte is read, ``ParseError`` for an upload broken off."""
        if announced_size(parser_context) > settings.MAX_UPLOAD_BYTES + settings.MAX_REQUEST_BYTES:
            raise TooLarge(f"A file may be at most {settings.MAX_UPLOAD_BYTES} bytes.")
        request = parser_context["request"]
        counted = CountedStream(stream)
        charset = parser_context.get("encoding") or settings.DEFAULT_CHARSET
        meta = {**request.META, "CONTENT_TYPE": media_type}
        files = SentFileHandler(request)
        request.upload_handlers = [files]
        try:
            form = LiteralForm(meta, counted, request.upload_handlers, charset).parse()
            require_whole(counted.size, parser_context)
        except (MultiPartParserError, UnicodeError) as error:
            files.close()
            raise ParseError(f"The form cannot be read: {error}") from None
        except BaseException:
            files.close()
            raise
        return DataAndFiles(*form)
