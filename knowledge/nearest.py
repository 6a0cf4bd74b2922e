"""Nearest rows of one source, as SQL: an exact scan of a small scope, the HNSW index above.

Both forms end alike: the best window of each row by exact cosine in full precision, in a total
order. No vector is selected.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Model

from embeddings.services import QueryVector
from embeddings.sql import vector_literal
from soat.tenancy.access import ProjectScope

# An exact scan of this many 384-dimensional vectors takes a few milliseconds, and misses nothing.
EXACT_SCAN_ROWS = 10_000
# A row of a long text has several windows: the index is asked for more of them than rows are wanted.
WINDOWS_PER_ROW = 2
MAX_EF_SEARCH = 1_000


@dataclass(frozen=True, slots=True)
class Source:
    """The tables of one source.

    ``vectors`` (alias ``v``) has the column ``row_key``; ``joins`` adds the rows that the filters
    and ``columns`` speak of; ``tie_break`` orders rows of equal distance, as ``soat.engine.rank`` does.
    """

    vectors: str
    row_key: str
    joins: str
    tie_break: str
    columns: str


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on a source, joined by AND, with their parameters; ``narrow`` are those on ``v`` alone."""

    narrow: str
    where: str
    parameters: Mapping[str, Any]


def allowed_rows(scope: ProjectScope, model: type[Model], column: str) -> tuple[str, dict[str, Any]]:
    """Return the condition that ``column`` is the key of a row that the policies let through, and its values."""
    if scope.rows is None:
        return "TRUE", {}
    rows = model._default_manager.filter(scope.rows).order_by().values("pk")  # noqa: SLF001
    sql, values = rows.query.sql_with_params()
    first, *rest = sql.split("%s")
    named = [f"%(allowed_{index})s{part}" for index, part in enumerate(rest)]
    return f"{column} IN ({first}{''.join(named)})", {f"allowed_{index}": value for index, value in enumerate(values)}


def nearest(source: Source, wanted: Filter, query: QueryVector, limit: int) -> list[list[Any]]:
    """Return ``[distance, *columns]`` of the ``limit`` nearest rows, nearest first.

    The index is asked for some more. Where it gives too few all the same (its scan ended early, or
    several windows were of one row), the exact scan answers.
    """
    parameters = {
        **wanted.parameters,
        "space": query.space.pk,
        "query": vector_literal(query.vector),
        "limit": limit,
        "fetch": limit * WINDOWS_PER_ROW,
    }
    if limit * WINDOWS_PER_ROW <= MAX_EF_SEARCH and not _is_small(source, wanted, parameters):
        rows = _run(_indexed(source, wanted, query), parameters)
        if len(rows) == limit and _is_whole(rows):
            return [columns for _, *columns in rows]
    return [columns for _, *columns in _run(_exact(source, wanted), parameters)]


def _is_whole(rows: list[tuple[Any, ...]]) -> bool:
    """Tell whether the index gave all rows of the last one's distance: only then can ties be cut in their order."""
    farthest, last, *_ = rows[-1]
    return bool(last < farthest)


def _is_small(source: Source, wanted: Filter, parameters: Mapping[str, Any]) -> bool:
    sql = (
        f"SELECT count(*) FROM (SELECT 1 FROM {source.vectors} v"
        f" WHERE v.space_id = %(space)s AND {wanted.narrow} LIMIT {EXACT_SCAN_ROWS + 1}) AS counted"
    )
    return bool(_run(sql, parameters)[0][0] <= EXACT_SCAN_ROWS)


def _exact(source: Source, wanted: Filter) -> str:
    return f"""
        WITH scored AS (
            SELECT v.{source.row_key} AS row_id, min(v.embedding <=> %(query)s::vector) AS distance,
                NULL AS farthest
            FROM {source.vectors} v {source.joins}
            WHERE v.space_id = %(space)s AND {wanted.narrow} AND {wanted.where}
            GROUP BY v.{source.row_key}, {source.tie_break}
            ORDER BY distance, {source.tie_break} LIMIT %(limit)s
        ) {_selected(source)}"""


def _indexed(source: Source, wanted: Filter, query: QueryVector) -> str:
    size = query.space.dimensions
    return f"""
        WITH found AS MATERIALIZED (
            SELECT v.{source.row_key} AS row_id
            FROM {source.vectors} v {source.joins}
            WHERE v.space_id = {query.space.pk:d} AND {wanted.narrow} AND {wanted.where}
            ORDER BY v.embedding::halfvec({size:d}) <=> %(query)s::halfvec({size:d}) LIMIT %(fetch)s
        ), scored AS (
            SELECT v.{source.row_key} AS row_id, min(v.embedding <=> %(query)s::vector) AS distance,
                max(min(v.embedding <=> %(query)s::vector)) OVER () AS farthest
            FROM {source.vectors} v {source.joins}
            WHERE v.space_id = %(space)s AND v.{source.row_key} IN (SELECT row_id FROM found)
            GROUP BY v.{source.row_key}, {source.tie_break}
            ORDER BY distance, {source.tie_break} LIMIT %(limit)s
        ) {_selected(source)}"""


def _selected(source: Source) -> str:
    return f"SELECT s.farthest, s.distance, {source.columns} ORDER BY s.distance, {source.tie_break}"


def _run(sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())
