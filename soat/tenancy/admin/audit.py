"""The audit trail in the admin: read, searched, never changed."""

import json
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest

from soat.audit.models import AuditEvent
from soat.core.ids import RANDOM_LENGTH
from soat.tenancy.models import Project
from soat.tenancy.staff.base import DeskAdmin
from soat.tenancy.staff.markup import NONE, block, code, moment
from soat.tenancy.staff.rights import ReadOnly, SuperuserOnly
from soat.tenancy.staff.theme import TextFilter


class EqualTextFilter(TextFilter):
    """Keep the rows whose column is exactly this text."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list."""
        text = (self.value() or "").replace("\x00", "").strip()
        return queryset.filter(**{str(self.parameter_name): text}) if text else queryset


class TypeFilter(EqualTextFilter):
    """Keep the changes of one kind of row."""

    title = "kind of row"
    parameter_name = "resource_type"


class UserFilter(EqualTextFilter):
    """Keep the changes of one user, also one that is gone."""

    title = "user id"
    parameter_name = "user"


class ResourceFilter(EqualTextFilter):
    """Keep the changes of one row."""

    title = "id of the row"
    parameter_name = "resource_id"


class DayFilter(TextFilter):
    """Keep the changes on one side of a day."""

    lookup: ClassVar[str]
    shift = timedelta()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list; a text that is no day is none."""
        text = (self.value() or "").strip()
        try:
            day = date.fromisoformat(text) if text else None
            begins = None if day is None else datetime.combine(day + self.shift, time(), UTC)
        except (ValueError, OverflowError):
            raise IncorrectLookupParameters from None
        return queryset if begins is None else queryset.filter(**{self.lookup: begins})


class FromFilter(DayFilter):
    """Keep the changes from a day on."""

    title = "first day (2026-01-31, UTC)"
    parameter_name = "from"
    lookup = "at__gte"


class UntilFilter(DayFilter):
    """Keep the changes up to a day, and of that day."""

    title = "last day (2026-01-31, UTC)"
    parameter_name = "until"
    lookup = "at__lt"
    shift = timedelta(days=1)


class ProjectFilter(TextFilter):
    """Keep the changes in one project."""

    title = "project id"
    parameter_name = "project"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list, through the index of the project's key."""
        text = (self.value() or "").replace("\x00", "").strip()
        if not text:
            return queryset
        key = Project.objects.filter(public_id=text).values_list("pk", flat=True).first()
        return queryset.filter(project_id=key) if key is not None else queryset.none()


@admin.register(AuditEvent)
class AuditEventAdmin(SuperuserOnly, ReadOnly, DeskAdmin):
    """Who changed what."""

    list_display = (
        "shown_time",
        "username",
        "operation",
        "resource_type",
        "shown_resource",
        "shown_project",
        "address",
    )
    list_filter = (TypeFilter, ResourceFilter, UserFilter, ProjectFilter, FromFilter, UntilFilter)
    search_help_text = "An id of what was changed, of a user or a key, or a user's name"
    date_hierarchy = None
    fields = (
        *("shown_time", "username", "user", "shown_key", "operation", "resource_type", "shown_resource"),
        *("shown_project", "shown_before", "shown_after", "request_id", "address"),
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        """Return the lines with the names of the projects that are still there."""
        names = Project.objects.filter(pk=OuterRef("project_id")).values("name")
        rows: QuerySet[AuditEvent] = super().get_queryset(request)
        return rows.annotate(project_name=Subquery(names[:1]))

    def found_by(self, request: HttpRequest, word: str) -> Q:
        """Return the condition that a search word stands for."""
        if len(word.rpartition("_")[2]) == RANDOM_LENGTH:
            return Q(resource_id=word) | Q(user=word) | Q(key=word)
        return Q(username__icontains=word)

    @admin.display(description="when", ordering="id")
    def shown_time(self, event: AuditEvent) -> str:
        """Return when it happened."""
        return moment(event.at)

    @admin.display(description="with the key")
    def shown_key(self, event: AuditEvent) -> str:
        """Return the name and the id of the key, as they were."""
        return f"{event.key_name} ({event.key})" if event.key else NONE

    @admin.display(description="what")
    def shown_resource(self, event: AuditEvent) -> str:
        """Return the id of the row."""
        return code(event.resource_id)

    @admin.display(description="project")
    def shown_project(self, event: AuditEvent) -> str:
        """Return the project's name."""
        return getattr(event, "project_name", None) or NONE

    @admin.display(description="before")
    def shown_before(self, event: AuditEvent) -> str:
        """Return what it was."""
        return _values(event.before)

    @admin.display(description="after")
    def shown_after(self, event: AuditEvent) -> str:
        """Return what it became."""
        return _values(event.after)


def _values(values: Any) -> str:
    return NONE if values is None else block(json.dumps(values, indent=2, ensure_ascii=False))
