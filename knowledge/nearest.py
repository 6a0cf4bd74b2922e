"""Nearest rows of one source, as SQL: an exact scan of a small scope, the HNSW index above, in one statement.

The statement counts, up to a bound, what the filters let through, and runs one of two branches; the
other is never executed. Both end alike: the best window of each row by exact cosine in full
precision, in a total order. No vector is selected.

The parts are common table expressions (``nearest_parts``), so that a statement may put others beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Model

from embeddings.services import QueryVector
from embeddings.sql import vector_literal
from knowledge.execution import fetched
from soat.tenancy.access import ProjectScope

# The index meets about as many vectors for a result as there are of others for each that the filters let
# through, and each that it meets costs as much as ten in an exact scan (measured, docs/performance.md). So the
# two cost the same where the rows are the square root of ten times what is fetched times the table.
COST_OF_INDEX = 10
# However small the table, so many are scanned exactly; however large, never more than so many.
ALWAYS_EXACT_ROWS = 2_000
EXACT_SCAN_ROWS = 100_000
# A row of a long text has several windows: the index is asked for more of them than rows are wanted.
WINDOWS_PER_ROW = 2
SPARE_WINDOWS = 10


class Way(StrEnum):
    """How the rows of a source were found."""

    EXACT = "exact"
    INDEX = "index"
    WORDS = "words"
    LISTED = "listed"


@dataclass(frozen=True, slots=True)
class Source:
    """The tables of one source.

    ``vectors`` (alias ``v``) has the column ``row_key``, the key of ``row``, the alias of ``texts`` in ``rows``;
    ``rows`` joins what the filters speak of. ``shown`` selects ``columns`` by the row's key ``s.row_id``.
    """

    vectors: str
    row_key: str
    row: str
    texts: str
    rows: str
    columns: str
    shown: str


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on a source, joined by AND, with their parameters.

    ``narrow`` are those on ``v`` alone, ``where`` those on ``rows``. ``sizes`` selects numbers whose sum is about
    how many vectors pass; only as many of its rows are read as the bound asks for.
    """

    narrow: str
    where: str
    sizes: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """Which way was taken and why.

    ``counted`` vectors pass the filters, or more where it is above ``bound``, the most that are scanned exactly.
    ``fell_short`` tells that the index gave too few and the exact scan answered after all.
    """

    way: Way
    counted: int | None = None
    bound: int | None = None
    fell_short: bool = False


@dataclass(frozen=True, slots=True)
class Nearest:
    """``[distance, *columns]`` of the nearest rows, nearest first, and how they were found."""

    rows: list[list[Any]]
    look: Look


def allowed_rows(scope: ProjectScope, model: type[Model], column: str) -> tuple[str, dict[str, Any]]:
    """Return the condition that ``column`` is the key of a row that the policies let through, and its values."""
    if scope.rows is None:
        return "TRUE", {}
    rows = model._default_manager.filter(scope.rows).order_by().values("pk")  # noqa: SLF001
    sql, values = rows.query.sql_with_params()
    first, *rest = sql.split("%s")
    named = [f"%(allowed_{index})s{part}" for index, part in enumerate(rest)]
    return f"{column} IN ({first}{''.join(named)})", {f"allowed_{index}": value for index, value in enumerate(values)}


def vectors_in(source: Source, narrow: str) -> str:
    """Return ``sizes`` for a filter that ``narrow`` says all of, or nearly."""
    return f"SELECT 1 AS number FROM {source.vectors} v WHERE v.space_id = %(space)s AND {narrow}"


def nearest(source: Source, wanted: Filter, query: QueryVector, limit: int) -> Nearest:
    """Return the ``limit`` nearest rows."""
    rows = fetched(nearest_statement(source, wanted, query), nearest_parameters(wanted, query, limit))
    # A row without a distance only says how it went: nothing was found.
    return Nearest([[row[4], *row[6:]] for row in rows if row[4] is not None], look_at(rows[0]))


def look_at(row: Sequence[Any]) -> Look:
    """Read from the first columns of a row how the statement went."""
    is_small, is_enough, counted, bound, *_ = row
    way = Way.INDEX if is_enough and not is_small else Way.EXACT
    return Look(way, int(counted), bound, fell_short=not is_small and not is_enough)


def nearest_parameters(wanted: Filter, query: QueryVector, limit: int) -> dict[str, Any]:
    """Return the values that ``nearest_parts`` speaks of."""
    return {
        **wanted.parameters,
        "space": query.space.pk,
        "query": vector_literal(query.vector),
        "limit": limit,
        "fetch": limit * WINDOWS_PER_ROW + SPARE_WINDOWS,
    }


def nearest_statement(source: Source, wanted: Filter, query: QueryVector) -> str:
    """Return the whole statement: how it went (also without any row), then distance, tie break and columns."""
    return f"""
        WITH {nearest_parts(source, wanted, query)}
        SELECT choice.is_small, judged.is_enough, choice.counted, choice.most, shown.*
        FROM choice CROSS JOIN judged LEFT JOIN (
            SELECT s.distance, s.tie, {source.columns} FROM scored s {source.shown}
        ) AS shown ON TRUE
        ORDER BY shown.distance, shown.tie COLLATE "C\""""


def nearest_parts(source: Source, wanted: Filter, query: QueryVector) -> str:
    """Return common table expressions that end in ``scored (row_id, tie, distance)``, the ``limit`` nearest rows.

    ``choice`` has the bounded count. ``found`` is read from the index, in its approximate order, unless the scope
    is small. Its rows are enough when those of the last one's distance are all there, for only then can ties be cut
    in their order; where they are not (its scan ended early, several windows were of one row), all are scanned.
    """
    return ",".join(
        [
            _choice(source, wanted),
            _found(source, wanted, query),
            _near(source, query),
            _scored(source, wanted, query),
        ]
    )


def _choice(source: Source, wanted: Filter) -> str:
    return f"""
        asked AS MATERIALIZED (SELECT %(query)s::vector AS vector),
        bound AS MATERIALIZED (
            SELECT least({EXACT_SCAN_ROWS}, greatest(
                {ALWAYS_EXACT_ROWS}, sqrt({COST_OF_INDEX}::float8 * %(fetch)s * greatest(reltuples, 0))
            ))::bigint AS most
            FROM pg_class WHERE oid = '{source.vectors}'::regclass
        ), choice AS MATERIALIZED (
            SELECT counted, most, counted <= most AS is_small FROM bound, (
                SELECT coalesce(sum(number), 0) AS counted
                FROM ({wanted.sizes} LIMIT (SELECT most + 1 FROM bound)) AS sizes
            ) AS summed
        )"""


def _found(source: Source, wanted: Filter, query: QueryVector) -> str:
    """Select from ``v`` alone: a join would leave the planner the choice to sort a large scope, where it errs."""
    size = query.space.dimensions
    return f"""
        found AS MATERIALIZED (
            SELECT v.{source.row_key} AS row_id
            FROM {source.vectors} v
            WHERE v.space_id = {query.space.pk:d} AND {wanted.narrow} AND NOT (SELECT is_small FROM choice)
                AND EXISTS (
                    SELECT FROM {source.rows} WHERE {source.row}.id = v.{source.row_key} AND {wanted.where} OFFSET 0
                )
            ORDER BY v.embedding::halfvec({size:d}) <=> (SELECT vector FROM asked)::halfvec({size:d})
            LIMIT %(fetch)s
        )"""


def _near(source: Source, query: QueryVector) -> str:
    return f"""
        near AS MATERIALIZED (
            {_distances(source)}
            WHERE v.space_id = {query.space.pk:d} AND v.{source.row_key} IN (SELECT row_id FROM found)
            GROUP BY {source.row}.id
        ), judged AS MATERIALIZED (
            SELECT count(*) FILTER (WHERE distance < (SELECT max(distance) FROM near)) >= %(limit)s AS is_enough
            FROM near
        )"""


def _scored(source: Source, wanted: Filter, query: QueryVector) -> str:
    return f"""
        scored AS MATERIALIZED (
            SELECT row_id, tie, distance FROM (
                SELECT row_id, tie, distance FROM near WHERE (SELECT is_enough FROM judged)
                UNION ALL (
                    {_distances(source)}
                    WHERE v.space_id = {query.space.pk:d} AND {wanted.narrow} AND {wanted.where}
                        AND ((SELECT is_small FROM choice) OR NOT (SELECT is_enough FROM judged))
                    GROUP BY {source.row}.id
                )
            ) AS every
            ORDER BY distance, tie COLLATE "C" LIMIT %(limit)s
        )"""


def _distances(source: Source) -> str:
    return f"""SELECT {source.row}.id AS row_id, {source.row}.public_id AS tie,
                min(v.embedding <=> (SELECT vector FROM asked)) AS distance
            FROM {source.vectors} v JOIN ({source.rows}) ON {source.row}.id = v.{source.row_key}"""
