"""Bodies and records of memories and entries."""

from rest_framework import serializers

from memories.models import SourceType
from memories.services import MAX_CONTENT_CHARACTERS, WriteAction
from soat.core.body import Body
from soat.core.fields import Choice, Flag, JsonObject, Number, Text, TextList
from soat.core.openapi import page_of
from soat.core.pages import PageQuery, ProjectPageQuery
from soat.engine.dedup import Bands

MAX_DESCRIPTION = 10_000
MAX_TAGS = 100
SIZE_OF_FACT = f"At most {MAX_CONTENT_CHARACTERS} characters, white space around them not counted."


class MemoryCreate(Body):
    """The body of ``createMemory``."""

    project_id = Text(max_length=64, required=False, allow_null=True)
    name = Text(max_length=255, nfc=True)
    description = Text(max_length=MAX_DESCRIPTION, required=False, blank=True, allow_null=True)
    tags = TextList(max_items=MAX_TAGS, required=False, allow_null=True)


class MemoryUpdate(Body):
    """The body of ``updateMemory``."""

    name = Text(max_length=255, nfc=True, required=False)
    description = Text(max_length=MAX_DESCRIPTION, required=False, blank=True, allow_null=True)
    tags = TextList(max_items=MAX_TAGS, required=False, allow_null=True)


class MemoryListQuery(ProjectPageQuery):
    """The query string of ``listMemories``."""

    tags = TextList(
        max_items=MAX_TAGS,
        required=False,
        help_text="Only memories with a tag that matches this glob; repeated: one of these globs.",
    )


class EntryCreate(Body):
    """The body of ``createMemoryEntry``."""

    memory_id = Text(max_length=64)
    content = Text(max_length=2**31, help_text=SIZE_OF_FACT)
    source_type = Choice(SourceType.choices, default=SourceType.MANUAL.value)
    tags = TextList(max_items=MAX_TAGS, required=False)
    metadata = JsonObject(required=False)
    duplicate_threshold = Number(min_value=0, max_value=1, default=Bands().duplicate, allow_null=True)
    force = Flag(default=False)


class EntryUpdate(Body):
    """The body of ``updateMemoryEntry``."""

    content = Text(max_length=2**31, required=False, help_text=SIZE_OF_FACT)
    tags = TextList(max_items=MAX_TAGS, required=False, allow_null=True)
    metadata = JsonObject(required=False, allow_null=True)


class EntryListQuery(PageQuery):
    """The query string of ``listMemoryEntries``."""

    memory_id = Text(max_length=64, help_text="The memory.")
    include_invalidated = Flag(default=False, help_text="Superseded entries too.")


class MemoryRecord(serializers.Serializer[None]):
    """A memory; description and tags are left out where there are none."""

    id = serializers.CharField()
    project_id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(required=False, allow_null=True)
    tags = serializers.ListField(child=serializers.CharField(), required=False, allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


MemoryPage = page_of("MemoryPage", MemoryRecord)


class MemoryEntryRecord(serializers.Serializer[None]):
    """An entry."""

    id = serializers.CharField()
    memory_id = serializers.CharField()
    content = serializers.CharField()
    source_type = serializers.ChoiceField(SourceType.choices)
    tags = serializers.ListField(child=serializers.CharField(), allow_null=True)
    metadata = serializers.DictField(allow_null=True)
    source_generation_id = serializers.CharField(allow_null=True)
    source_conversation_id = serializers.CharField(allow_null=True)
    invalidated_at = serializers.DateTimeField(allow_null=True)
    superseded_by_entry_id = serializers.CharField(allow_null=True)
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class MemoryEntryWriteResult(MemoryEntryRecord):
    """An entry, what the write did, and why."""

    action = serializers.ChoiceField([action.value for action in WriteAction])
    reason = serializers.CharField()
    similarity = serializers.FloatField(required=False, min_value=0, max_value=1)
    matched_entry_id = serializers.CharField(required=False)


MemoryEntryPage = page_of("MemoryEntryPage", MemoryEntryRecord)
