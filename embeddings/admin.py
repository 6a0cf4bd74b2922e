"""Vector spaces in the admin, and how the admin pages of other apps show vectors."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, Subquery
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from embeddings.indexes import index_name, missing_indexes, vector_tables
from embeddings.models import EmbeddingSpace, StoredVector
from embeddings.summaries import vector_summaries
from soat.tenancy.staff.base import DeskAdmin
from soat.tenancy.staff.markup import NONE, Table, Tone, badge, code, moment
from soat.tenancy.staff.rights import ReadOnly, SuperuserOnly

COUNTED = 100_000
"""Vectors of a space are counted up to here."""


def windows_of(model: type[StoredVector], owner: str) -> Subquery:
    """Return the number of vectors of each row of a list, None where there are none; read for the rows shown only."""
    vectors = model._default_manager.filter(**{owner: OuterRef("pk")})  # noqa: SLF001  (Django's own public name)
    return Subquery(vectors.order_by().values(owner).annotate(number=Count("pk")).values("number"))


def vector_state(windows: int | None, *, awaits: bool) -> SafeString:
    """Return a label for a row of a list."""
    if awaits:
        return badge("waiting for its vector", Tone.WARN)
    if not windows:
        return badge("no vector", Tone.PLAIN)
    return badge("1 vector" if windows == 1 else f"{windows} vectors", Tone.GOOD)


def vector_facts(model: type[StoredVector], *, awaits: bool, **owner: object) -> SafeString:
    """Return what can be said of a row's vectors, one space a line, without the vectors themselves."""
    lines = [
        format_html(
            "{} {} {}",
            summary,
            code(summary.space),
            badge("current space", Tone.GOOD) if summary.is_current else badge("not the current space", Tone.PLAIN),
        )
        for summary in vector_summaries(model, **owner)
    ]
    if awaits:
        lines.append(
            format_html(
                "{} found by its words only until the provider answers", badge("waiting for its vector", Tone.WARN)
            )
        )
    return (
        format_html_join("", "<div>{}</div>", ((line,) for line in lines)) if lines else badge("no vector", Tone.PLAIN)
    )


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(SuperuserOnly, ReadOnly, DeskAdmin):
    """Vector spaces."""

    list_display = ("model", "provider", "dimensions", "shown_state", "shown_created")
    search_fields = ("model",)
    text_lookups = ("provider", "model")
    fields = ("provider", "model", "dimensions", "shown_state", "created_at")

    @admin.display(description="state", ordering="is_current")
    def shown_state(self, space: EmbeddingSpace) -> str:
        """Tell which space is in use."""
        return badge("current", Tone.GOOD) if space.is_current else badge("not in use", Tone.PLAIN)

    @admin.display(description="created", ordering="id")
    def shown_created(self, space: EmbeddingSpace) -> str:
        """Return when the space was registered."""
        return moment(space.created_at)

    def related_tables(self, request: HttpRequest, obj: Any) -> list[Table]:
        """Return the tables that hold vectors of the space, and their indexes."""
        missing = missing_indexes(obj)
        rows = []
        for model in vector_tables():
            keys = model._default_manager.filter(space=obj).order_by().values_list("pk")  # noqa: SLF001
            number = keys[: COUNTED + 1].count()
            state = badge("missing", Tone.BAD) if model in missing else badge("ready", Tone.GOOD)
            rows.append(
                (
                    model._meta.db_table,  # noqa: SLF001
                    f"more than {COUNTED:,}" if number > COUNTED else f"{number:,}",
                    code(index_name(model, obj)),
                    state,
                )
            )
        return [Table("Vectors", ("Table", "Vectors", "Index", "State of the index"), rows, empty=NONE)]
