"""List answers: ``{data, total, limit, offset}`` in a total order."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from soat.core.body import Body
from soat.core.fields import Text

ModelT = TypeVar("ModelT", bound=Model)

DEFAULT_LIMIT = 50
MAX_LIMIT = 100
MAX_OFFSET = 2**31

_DIGITS = re.compile("[0-9]{1,20}")


@extend_schema_field({"type": "integer"})
class Lenient(serializers.Field):  # type: ignore[type-arg]
    """A page parameter: whatever it is, and however often, it is no error."""

    takes_anything = True

    def to_internal_value(self, data: Any) -> Any:
        """Return the value as it came."""
        return data


class PageQuery(Body):
    """The query string of a list."""

    limit = Lenient(default=DEFAULT_LIMIT, help_text=f"Rows in the answer, clamped to 1..{MAX_LIMIT}.")
    offset = Lenient(default=0, help_text="Rows to pass over.")


class ProjectPageQuery(PageQuery):
    """The query string of a list that can be narrowed to one project."""

    project_id = Text(
        max_length=64, required=False, blank=True, help_text="Only this project; without it all that you may read."
    )


def _number(raw: object, default: int) -> int:
    return int(raw) if isinstance(raw, str) and _DIGITS.fullmatch(raw.strip()) else default


def page_window(query: Mapping[str, Any]) -> tuple[int, int]:
    """Return ``(limit, offset)``: the limit clamped to 1..100, an unreadable or negative value the default."""
    limit = min(max(_number(query.get("limit"), DEFAULT_LIMIT), 1), MAX_LIMIT)
    return limit, min(_number(query.get("offset"), 0), MAX_OFFSET)


def paged(
    rows: QuerySet[ModelT], query: Mapping[str, Any], represent: Callable[[ModelT], dict[str, Any]]
) -> dict[str, Any]:
    """Return one page of ``rows``, which must be in a total order, with the number of all of them."""
    limit, offset = page_window(query)
    return {
        "data": [represent(row) for row in rows[offset : offset + limit]],
        "total": rows.order_by().count(),
        "limit": limit,
        "offset": offset,
    }
