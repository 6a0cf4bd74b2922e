"""Queries that every request asks: composed once, for composing one takes the ORM longer than asking the database."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import QuerySet


class ComposedQuery:
    """The query that ``make`` returns for given values, a ``values_list``; its SQL is the same whatever they are.

    ``examples`` are values of the right types, different from each other and from every constant of the query:
    where they stand among its parameters, later ones are put.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]], *examples: Any) -> None:
        self._make = make
        self._examples = examples

    def first(self, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row for ``values`` as the database gives it, JSON as text, or None."""
        sql, parameters, places = self._composed
        given = list(parameters)
        for place, value in zip(places, values, strict=True):
            given[place] = value
        return _first(sql, given)

    @cached_property
    def _composed(self) -> tuple[str, Sequence[Any], list[int]]:
        query = self._make(*self._examples)[:1].query
        sql, parameters = query.get_compiler(connection=connection).as_sql()
        plain = [getattr(parameter, "obj", parameter) for parameter in parameters]
        return sql, parameters, [plain.index(example) for example in self._examples]


def first_row(rows: QuerySet[Any, Any]) -> tuple[Any, ...] | None:
    """Return the first row of a query that is asked too seldom to be kept composed, as ``ComposedQuery`` gives it."""
    sql, parameters = rows[:1].query.get_compiler(connection=connection).as_sql()
    return _first(sql, parameters)


def _first(sql: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row
