"""Lists of any size: no count of a whole table, and one scan a page even where no index helps."""

from typing import Any, ClassVar

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.paginator import InvalidPage, Page, Paginator
from django.http import HttpRequest
from django.utils.functional import cached_property

from soat.tenancy.staff.theme import ChangeList

REACH = 10_000
"""How many rows of a list can be paged through; whoever looks for a later one narrows the list."""


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """The first ``reach`` rows of a queryset, in pages.

    The keys of these rows are read once, in the order of the list; a page is then read by its keys,
    so that what is costly for a row (joins, counts) is done for the rows shown only.
    """

    template_name: ClassVar[str] = "admin/bounded_pagination.html"
    reach = REACH

    @cached_property
    def _keys(self) -> list[Any]:
        rows: Any = self.object_list
        return list(rows.values_list("pk", flat=True)[: self.reach + 1])

    @cached_property
    def count(self) -> int:
        """Return the number of rows that can be paged through."""
        return min(len(self._keys), self.reach)

    @property
    def reach_text(self) -> str:
        """Return the number of rows that can be paged through at most, for people."""
        return f"{self.reach:,}"

    @property
    def is_cut(self) -> bool:
        """Tell whether there are more rows than can be paged through."""
        return len(self._keys) > self.reach

    def page(self, number: int | str) -> Page:  # type: ignore[type-arg]
        """Return a page. Raises ``InvalidPage``."""
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        keys = self._keys[start : min(start + self.per_page, self.count)]
        rows: Any = self.object_list
        return Page(rows.filter(pk__in=keys), number, self)


class BoundedChangeList(ChangeList):
    """A change list that never counts what it does not show."""

    def get_results(self, request: HttpRequest) -> None:
        """Read one page. Raises ``IncorrectLookupParameters`` for one that is not there."""
        paginator = self.model_admin.get_paginator(request, self.queryset, self.list_per_page)
        self.result_count = paginator.count
        self.multi_page = self.result_count > self.list_per_page
        self.can_show_all = False
        self.show_full_result_count = False
        # The theme says how many there are without filters, when that is another number: it is not known.
        self.full_result_count = self.result_count
        self.show_admin_actions = True
        self.paginator = paginator
        try:
            self.result_list = paginator.page(self.page_num).object_list
        except InvalidPage:
            raise IncorrectLookupParameters from None
