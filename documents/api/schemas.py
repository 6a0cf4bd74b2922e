"""Bodies and records of documents."""

from typing import Any

from rest_framework import serializers

from documents.models import DocumentStatus
from soat.core.body import Body
from soat.core.fields import Choice, Flag, JsonObject, TagMap, Text, WholeNumber
from soat.core.openapi import page_of
from soat.core.pages import ProjectPageQuery
from soat.engine.chunk import DEFAULT_OVERLAP, DEFAULT_SIZE, MAX_CHUNK_LENGTH, ChunkRequest, ChunkStrategy
from soat.files.api.schemas import FileName, PathText

MAX_CONTENT_CHARACTERS = 2**31
MAX_TITLE = 512
STRATEGIES = [strategy.value for strategy in ChunkStrategy]


class DocumentPath(PathText):
    """The path of a document, which is never the root."""

    def to_internal_value(self, data: Any) -> str:
        """Return the canonical path. Raises ``serializers.ValidationError``."""
        path = super().to_internal_value(data)
        if path == "/":
            raise serializers.ValidationError("must name a document, not the root.")
        return path


class Chunking(Body):
    """The three values that say how a text is cut."""

    chunk_strategy = Choice(STRATEGIES, default=ChunkStrategy.PAGE.value)
    chunk_size = WholeNumber(
        min_value=1,
        max_value=MAX_CHUNK_LENGTH,
        required=False,
        help_text=f"For `size`: characters of a window, {DEFAULT_SIZE} unless it is sent.",
    )
    chunk_overlap = WholeNumber(
        min_value=0,
        max_value=MAX_CHUNK_LENGTH - 1,
        required=False,
        help_text=f"For `size`: less than `chunk_size`; {DEFAULT_OVERLAP}, or half of a small size, unless it is sent.",
    )


def chunk_request(body: dict[str, Any]) -> ChunkRequest:
    """Take the chunk values out of a validated body."""
    strategy = body.pop("chunk_strategy", None)
    return ChunkRequest(
        strategy=ChunkStrategy(strategy) if strategy else None,
        size=body.pop("chunk_size", None),
        overlap=body.pop("chunk_overlap", None),
    )


class DocumentCreate(Chunking):
    """The body of ``createDocument``."""

    chunk_strategy = Choice(STRATEGIES, default=ChunkStrategy.WHOLE.value)
    project_id = Text(max_length=64, required=False, allow_null=True)
    content = Text(max_length=MAX_CONTENT_CHARACTERS)
    path = DocumentPath(required=False)
    filename = FileName(required=False)
    title = Text(max_length=MAX_TITLE, required=False)
    metadata = JsonObject(required=False)
    tags = TagMap(required=False)


class DocumentIngest(Chunking):
    """The body of ``ingestDocument``."""

    file_id = Text(max_length=64)
    project_id = Text(max_length=64, required=False, allow_null=True)
    path_prefix = PathText(max_length=700, required=False, blank=True)
    tags = TagMap(required=False)


class DocumentReingest(Chunking):
    """The body of ``reingestDocument``."""

    chunk_strategy = Choice(
        STRATEGIES,
        default=ChunkStrategy.PAGE.value,
        help_text="Unless it is sent, `whole` for what was made of text.",
    )


class DocumentUpdate(Body):
    """The body of ``updateDocument``."""

    content = Text(max_length=MAX_CONTENT_CHARACTERS, required=False)
    title = Text(max_length=MAX_TITLE, required=False)
    path = DocumentPath(required=False, allow_null=True)
    metadata = JsonObject(required=False)
    tags = TagMap(required=False)


class DocumentListQuery(ProjectPageQuery):
    """The query string of ``listDocuments``."""

    path_prefix = PathText(required=False, blank=True, help_text="Only documents in this folder.")


class WaitQuery(Body):
    """Whether the request waits for the settled result."""

    wait = Flag(default=False, help_text="Answer with the settled result instead of 202.")


class DocumentRecord(serializers.Serializer[None]):
    """A document; fields without a value are left out."""

    id = serializers.CharField()
    file_id = serializers.CharField()
    project_id = serializers.CharField()
    path = serializers.CharField(required=False, allow_null=True)
    filename = serializers.CharField()
    content_type = serializers.CharField()
    size = serializers.IntegerField()
    status = serializers.ChoiceField(DocumentStatus.choices)
    title = serializers.CharField(required=False)
    metadata = serializers.DictField(required=False)
    tags = serializers.DictField(child=serializers.CharField(), required=False)
    content = serializers.CharField(required=False, allow_null=True)
    warnings = serializers.ListField(child=serializers.CharField(), required=False)
    chunk_strategy = serializers.ChoiceField(STRATEGIES)
    chunk_size = serializers.IntegerField(required=False)
    chunk_overlap = serializers.IntegerField(required=False)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class IngestedDocumentRecord(DocumentRecord):
    """A document and the number of its chunks."""

    chunk_count = serializers.IntegerField()


class DocumentStatusRecord(serializers.Serializer[None]):
    """How far the latest ingestion is."""

    id = serializers.CharField()
    status = serializers.ChoiceField(DocumentStatus.choices)
    chunk_count = serializers.IntegerField()
    total_chunks = serializers.IntegerField(allow_null=True)
    total_pages = serializers.IntegerField(allow_null=True)
    progress = serializers.IntegerField(allow_null=True)
    error = serializers.CharField(allow_null=True)


DocumentPageList = page_of("DocumentPageList", DocumentRecord)
