"""Filters of the admin lists. None reads the values of a whole column to offer them."""

from collections.abc import Iterator
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters, ModelAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from soat.core.fields import text_fault
from soat.tenancy.staff.theme import AutocompleteFilter, DropdownFilter, TextFilter


class RelatedFilter(AutocompleteFilter):
    """Choose a related row by searching for it, among those that the user may see."""

    request: HttpRequest
    model_admin: "ModelAdmin[Any]"

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Yield the form; its field knows no row that the related list does not show."""
        related: Any = self.field.related_model
        rows = self.model_admin.admin_site.get_model_admin(related).get_queryset(self.request)
        choice: Any
        for choice in super().choices(changelist):
            choice["form"].fields[self.lookup_kwarg].queryset = rows
            yield choice


class YesNoFilter(DropdownFilter):
    """Keep the rows for which a condition holds, or those for which it does not."""

    yes = "Yes"
    no = "No"

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        """Return the two choices."""
        return [("yes", self.yes), ("no", self.no)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        """Narrow the list."""
        if self.value() not in {"yes", "no"}:
            return queryset
        return self.narrowed(queryset, holds=self.value() == "yes")

    def narrowed(self, rows: QuerySet[Model], *, holds: bool) -> QuerySet[Model]:
        """Return the rows for which the condition holds, or the others."""
        raise NotImplementedError


class TagFilter(TextFilter):
    """Keep the rows that carry exactly this tag."""

    title = "tag"
    parameter_name = "tag"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        """Narrow the list, through the column's own index."""
        tag = (self.value() or "").strip()
        if not tag:
            return queryset
        if text_fault(tag):
            raise IncorrectLookupParameters
        return queryset.filter(tags__contains=self.stored(tag))

    def stored(self, tag: str) -> Any:
        """Return what the column holds for a tag."""
        return [tag]
