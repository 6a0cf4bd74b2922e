"""The front page of the admin: a few true numbers, each from a cheap query, of the projects that the user sees."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from documents.admin.progress import document_bar
from documents.models import OPEN_STATES, Document, DocumentChunk, DocumentStatus, IngestionAttempt
from embeddings.models import EmbeddingSpace
from embeddings.spaces import configured_identity
from memories.models import Memory, MemoryEntry
from soat.files.models import File
from soat.tenancy.access import ProjectScope
from soat.tenancy.staff.markup import Table, Tone, badge, excerpt, link, list_url, moment
from soat.tenancy.staff.scope import is_superuser, staff_scope

COUNTED = 100_000
"""Rows are counted one by one up to here; more are called more."""
LISTED = 5
STATES = (
    (DocumentStatus.READY, Tone.GOOD),
    (DocumentStatus.PROCESSING, Tone.BUSY),
    (DocumentStatus.PENDING, Tone.PLAIN),
    (DocumentStatus.FAILED, Tone.BAD),
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the front page with the list that it counts."""

    title: str
    value: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A part of the documents: how many are in a state."""

    name: str
    tone: Tone
    number: str
    share: float
    url: str


def front_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the numbers to the front page."""
    context["title"] = "Overview"
    scope = staff_scope(request)
    if admin.site.get_model_admin(Document).has_view_permission(request):
        context["numbers"] = _numbers(scope)
        context["states"] = _states(scope)
        context["tables"] = [_failed(scope), _newest(scope)]
    context["space"] = _space() if is_superuser(request) else None
    return context


def _numbers(scope: ProjectScope) -> list[Number]:
    # An entry is reached through its memory, which an index finds by its project.
    entries = scope.filter(MemoryEntry.objects.filter(invalidated_at=None), "memory__project_id")
    waiting = _counted(_waiting_entries(scope)), _counted(_waiting_chunks(scope))
    return [
        Number("Documents", _counted(scope.filter(Document.objects.all())), list_url("documents_document")),
        Number("Files", _counted(scope.filter(File.objects.all())), list_url("files_file")),
        Number("Memories", _counted(scope.filter(Memory.objects.all())), list_url("memories_memory")),
        Number("Valid entries", _counted(entries), list_url("memories_memoryentry", valid="yes")),
        Number(
            "Entries waiting for vectors",
            waiting[0],
            list_url("memories_memoryentry", waiting="yes"),
            _waiting_note(waiting[0]),
        ),
        Number(
            "Chunks waiting for vectors",
            waiting[1],
            list_url("documents_documentchunk", waiting="yes"),
            _waiting_note(waiting[1]),
        ),
        Number(
            "Runs waiting or at work",
            _counted(scope.filter(IngestionAttempt.objects.filter(state__in=OPEN_STATES))),
            list_url("documents_ingestionattempt"),
        ),
    ]


def _waiting_note(number: str) -> str:
    return "" if number == "0" else "They get one when the provider answers."


def _waiting_entries(scope: ProjectScope) -> QuerySet[Any]:
    return scope.filter(MemoryEntry.objects.filter(awaits_vector=True))


def _waiting_chunks(scope: ProjectScope) -> QuerySet[Any]:
    return scope.filter(DocumentChunk.objects.filter(awaits_vector=True))


def _counted(rows: QuerySet[Any, Any]) -> str:
    number = rows.order_by()[: COUNTED + 1].count()
    return f"{number:,}" if number <= COUNTED else f"{COUNTED:,}+"


def _states(scope: ProjectScope) -> list[State]:
    rows = scope.filter(Document.objects.order_by())
    numbers = dict(rows.values_list("status").annotate(number=Count("pk")))
    total = sum(numbers.values())
    return [
        State(
            name=str(status.label),
            tone=tone,
            number=f"{numbers.get(status, 0):,}",
            share=100 * numbers.get(status, 0) / total if total else 0.0,
            url=list_url("documents_document", status__exact=status),
        )
        for status, tone in STATES
    ]


def _failed(scope: ProjectScope) -> Table:
    rows = scope.filter(Document.objects.filter(status=DocumentStatus.FAILED))
    more = ("All that failed", list_url("documents_document", status__exact=DocumentStatus.FAILED))
    return Table("Documents that failed", ("Document", "State", "Changed"), _rows(rows), more, empty="None failed.")


def _newest(scope: ProjectScope) -> Table:
    more = ("All documents", list_url("documents_document"))
    rows = _rows(scope.filter(Document.objects.all()))
    return Table("Newest documents", ("Document", "State", "Changed"), rows, more, empty="There is no document yet.")


def _rows(documents: QuerySet[Document]) -> list[tuple[Any, ...]]:
    newest = documents.select_related("current_attempt", "settled_attempt").order_by("-id")[:LISTED]
    return [(link(document), document_bar(document), moment(document.updated_at)) for document in newest]


def _space() -> Any:
    """Return a sentence about the current space."""
    current = EmbeddingSpace.objects.filter(is_current=True).first()
    wanted = configured_identity()
    if current is None:
        return badge("no vector space yet", Tone.WARN)
    if wanted is None:
        state = badge("no embedder is configured", Tone.BAD)
    elif (current.provider, current.model, current.dimensions) != wanted:
        state = badge("the settings name another model", Tone.BAD)
    else:
        state = badge("in use", Tone.GOOD)
    return format_html("{} {}", link(current, excerpt(str(current))), state)
