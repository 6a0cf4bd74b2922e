"""Memories and their entries in the admin: what is written goes through the funnel, as everywhere."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from embeddings.admin import vector_facts, vector_state, windows_of
from memories import services
from memories.api.schemas import EntryCreate, MemoryUpdate
from memories.models import EntryVector, Memory, MemoryEntry
from memories.services import IncomingFact, WriteAction, WriteResult
from soat.core.errors import Conflict
from soat.tenancy.staff.base import ServiceAdmin
from soat.tenancy.staff.filters import RelatedFilter, TagFilter, YesNoFilter
from soat.tenancy.staff.forms import JsonField, LinesField, PlainTextField, ServiceForm
from soat.tenancy.staff.markup import (
    NONE,
    Table,
    Tone,
    anchor,
    badge,
    change_url,
    excerpt,
    link,
    list_url,
    moment,
    once,
)
from soat.tenancy.staff.rights import TenantRows
from soat.tenancy.staff.theme import ChoicesFilter, Switch

LISTED = 20
COUNTED = 10_000
_RESULT = "write_result"


def tag_list(tags: list[str]) -> str:
    """Return the tags on one line."""
    return excerpt(", ".join(tags), 60) if tags else NONE


class MemoryForm(ServiceForm):
    """A memory's name, description and tags."""

    schema = MemoryUpdate

    description = PlainTextField(required=False, rows=3)
    tags = LinesField(help_text="One a line.")


@admin.register(Memory)
class MemoryAdmin(TenantRows, ServiceAdmin):
    """Memories."""

    form = MemoryForm
    list_display = ("name", "project", "shown_tags", "shown_entries", "shown_updated", "shown_created")
    list_select_related = ("project",)
    list_filter = (("project", RelatedFilter), TagFilter)
    search_help_text = "Part of the name, or an id"
    id_lookups: ClassVar = {"mem": "public_id", "proj": "project__public_id"}
    text_lookups = ("name",)
    autocomplete_fields = ("project",)
    record = ("shown_ways", "shown_project", "public_id", "created_at", "updated_at")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show the record of a memory that is there."""
        edited = ("name", "description", "tags")
        if obj is None:
            return ((None, {"fields": ("project", *edited)}),)
        return ((None, {"fields": edited}), ("Record", {"fields": self.record}))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what cannot be edited: a memory stays in its project."""
        return () if obj is None else self.record

    @admin.display(description="tags")
    def shown_tags(self, memory: Memory) -> str:
        """Return the tags on one line."""
        return tag_list(memory.tags)

    @admin.display(description="entries")
    def shown_entries(self, memory: Memory) -> str:
        """Return a link to the memory's entries."""
        return anchor(list_url("memories_memoryentry", memory__id__exact=memory.pk), "Show entries")

    @admin.display(description="entries")
    def shown_ways(self, memory: Memory) -> str:
        """Return links to the entries and to adding one."""
        add = anchor(f"{reverse('admin:memories_memoryentry_add')}?memory={memory.pk}", "Add an entry")
        return format_html("{} · {}", self.shown_entries(memory), add)

    @admin.display(description="changed", ordering="updated_at")
    def shown_updated(self, memory: Memory) -> str:
        """Return when the memory itself was changed."""
        return moment(memory.updated_at)

    @admin.display(description="created", ordering="id")
    def shown_created(self, memory: Memory) -> str:
        """Return when the memory was made."""
        return moment(memory.created_at)

    def create(self, request: HttpRequest, form: Any) -> Memory:
        """Create the memory."""
        return services.create_memory(
            project=form.cleaned_data["project"],
            name=form.value("name"),
            description=form.value("description"),
            tags=form.value("tags") or [],
        )

    def update(self, request: HttpRequest, form: Any) -> Memory:
        """Change the memory."""
        return services.update_memory(memory=form.instance, changes=form.changes())

    def remove(self, obj: Memory) -> None:
        """Delete the memory with its entries."""
        services.delete_memory(memory=obj)

    def deletion_effects(self, obj: Memory) -> list[str]:
        """Say how many entries go."""
        return [f"{_number_of_entries(obj)} with their vectors"]

    def related_tables(self, request: HttpRequest, obj: Memory) -> list[Table]:
        """Return the newest entries."""
        newest = obj.entries.annotate(windows=windows_of(EntryVector, "entry")).order_by("-created_at", "-id")[:LISTED]
        rows = [
            (
                link(entry, excerpt(entry.content, 120)),
                entry.get_source_type_display(),
                _validity(entry),
                vector_state(entry.windows, awaits=entry.awaits_vector),
                moment(entry.created_at),
            )
            for entry in newest
        ]
        more = (_number_of_entries(obj), list_url("memories_memoryentry", memory__id__exact=obj.pk))
        headers = ("Newest entries", "Source", "Validity", "Vector", "Created")
        return [Table("Entries", headers, rows, more, empty="This memory is empty.")]


def _number_of_entries(memory: Memory) -> str:
    number = memory.entries.order_by()[: COUNTED + 1].count()
    if number > COUNTED:
        return f"More than {COUNTED:,} entries"
    return "1 entry" if number == 1 else f"{number:,} entries"


def _validity(entry: MemoryEntry) -> str:
    if entry.invalidated_at is None:
        return badge("valid", Tone.GOOD)
    return badge("superseded" if entry.superseded_by_id else "invalidated", Tone.PLAIN)


class EntryForm(ServiceForm):
    """A fact."""

    schema = EntryCreate

    content = PlainTextField(rows=4, label="Fact")
    tags = LinesField(help_text="One a line.")
    metadata = JsonField()
    force = forms.BooleanField(
        required=False,
        widget=Switch,
        label="Store in any case",
        help_text="Also where the memory holds this fact already.",
    )


class ValidityFilter(YesNoFilter):
    """Valid entries, or those that count no more."""

    title = "validity"
    parameter_name = "valid"
    yes = "Valid"
    no = "Invalidated or superseded"

    def narrowed(self, rows: QuerySet[Any], *, holds: bool) -> QuerySet[Any]:
        """Return the rows of one kind."""
        return rows.filter(invalidated_at__isnull=holds)


class WaitingFilter(YesNoFilter):
    """Rows that wait for their vector, or those that do not."""

    title = "vector"
    parameter_name = "waiting"
    yes = "Waiting for its vector"
    no = "Not waiting"

    def narrowed(self, rows: QuerySet[Any], *, holds: bool) -> QuerySet[Any]:
        """Return the rows of one kind."""
        return rows.filter(awaits_vector=holds)


@admin.register(MemoryEntry)
class MemoryEntryAdmin(TenantRows, ServiceAdmin):
    """Entries. A changed text gets a new vector; a new one passes the same check for duplicates as everywhere."""

    form = EntryForm
    list_display = (
        "shown_content",
        "memory",
        "shown_source",
        "shown_validity",
        "shown_vector",
        "shown_tags",
        "shown_created",
    )
    list_select_related = ("memory",)
    list_filter = (
        ("memory", RelatedFilter),
        ("project", RelatedFilter),
        ("source_type", ChoicesFilter),
        ValidityFilter,
        WaitingFilter,
        TagFilter,
    )
    search_help_text = "Words of the fact, or an id"
    id_lookups: ClassVar = {"mem_entry": "public_id", "mem": "memory__public_id", "proj": "project__public_id"}
    text_lookups = ("content",)
    autocomplete_fields = ("memory",)
    actions = ("delete_selected", "embed_again")
    record = (
        "memory",
        "shown_vectors",
        "shown_validity",
        "shown_successor",
        "source_type",
        "public_id",
        "version",
        "created_at",
        "updated_at",
        "invalidated_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the entries with the number of their vectors."""
        rows: QuerySet[Any] = super().get_queryset(request).annotate(windows=windows_of(EntryVector, "entry"))
        return rows

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show the record of an entry that is there."""
        if obj is None:
            return ((None, {"fields": ("memory", "content", "tags", "metadata", "force")}),)
        return ((None, {"fields": ("content", "tags", "metadata")}), ("Record", {"fields": self.record}))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what cannot be edited."""
        return () if obj is None else self.record

    @admin.display(description="fact")
    def shown_content(self, entry: MemoryEntry) -> str:
        """Return the beginning of the text."""
        return excerpt(entry.content)

    @admin.display(description="source", ordering="source_type")
    def shown_source(self, entry: MemoryEntry) -> str:
        """Return the path by which the entry came in."""
        return badge(entry.get_source_type_display(), Tone.PLAIN)

    @admin.display(description="validity")
    def shown_validity(self, entry: MemoryEntry) -> str:
        """Tell whether the entry counts."""
        return _validity(entry)

    @admin.display(description="superseded by")
    def shown_successor(self, entry: MemoryEntry) -> str:
        """Return a link to the entry that took this one's place."""
        return link(entry.superseded_by)

    @admin.display(description="vector")
    def shown_vector(self, entry: MemoryEntry) -> str:
        """Return the state of the vector in a list."""
        return vector_state(getattr(entry, "windows", None), awaits=entry.awaits_vector)

    @admin.display(description="vectors")
    @once
    def shown_vectors(self, entry: MemoryEntry) -> str:
        """Return what can be said of the vectors."""
        return vector_facts(EntryVector, awaits=entry.awaits_vector, entry_id=entry.pk)

    @admin.display(description="tags")
    def shown_tags(self, entry: MemoryEntry) -> str:
        """Return the tags on one line."""
        return tag_list(entry.tags)

    @admin.display(description="created", ordering="id")
    def shown_created(self, entry: MemoryEntry) -> str:
        """Return when the entry was written."""
        return moment(entry.created_at)

    def create(self, request: HttpRequest, form: Any) -> MemoryEntry:
        """Write the fact; what became of it is said in the answer."""
        fact = IncomingFact(
            content=form.cleaned_data["content"],
            tags=tuple(form.cleaned_data["tags"]),
            metadata=form.cleaned_data["metadata"],
            force=form.cleaned_data["force"],
        )
        result = services.write_entry(memory=form.cleaned_data["memory"], fact=fact)
        setattr(request, _RESULT, result)
        return result.entry

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log a fact that was stored; one that was known already changed nothing."""
        if getattr(request, _RESULT).action is not WriteAction.SKIPPED:
            super().log_addition(request, obj, message)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> Any:
        """Say what became of the fact."""
        result: WriteResult = getattr(request, _RESULT)
        if result.action is WriteAction.SKIPPED:
            likeness = "" if result.similarity is None else f" (similarity {result.similarity:.3f})"
            messages.warning(request, f"Nothing was stored: the memory holds this fact already{likeness}. This is it.")
            return HttpResponseRedirect(change_url(obj))
        self._say_if_waiting(request, obj)
        return super().response_add(request, obj, post_url_continue)

    def update(self, request: HttpRequest, form: Any) -> MemoryEntry:
        """Change the entry; a new text is embedded."""
        entry = services.update_entry(entry=form.instance, changes=form.changes())
        if "content" in form.changed_data:
            self._say_if_waiting(request, entry)
        return entry

    def _say_if_waiting(self, request: HttpRequest, entry: MemoryEntry) -> None:
        if entry.awaits_vector:
            messages.warning(
                request, "The embedding provider gave no answer: the entry is stored and waits for its vector."
            )

    def remove(self, obj: MemoryEntry) -> None:
        """Delete the entry for good."""
        services.delete_entry(entry=obj)

    def log_name(self, obj: MemoryEntry) -> str:
        """Return the id: a deleted fact must not live on in the log."""
        return str(obj.public_id)

    @admin.action(permissions=["change"], description="Embed now what waits for its vector")
    def embed_again(self, request: HttpRequest, queryset: QuerySet[MemoryEntry]) -> None:
        """Give entries that wait their vectors."""

        def embed(entry: MemoryEntry) -> None:
            if services.update_entry(entry=entry, changes={"content": entry.content}).awaits_vector:
                raise Conflict("the embedding provider gives no answer.")

        done = self.for_each(request, queryset.filter(awaits_vector=True), embed)
        messages.info(request, f"{done:,} {self.named(done)} got a vector.")
