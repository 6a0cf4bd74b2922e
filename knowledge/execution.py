"""Running the statement of a search so that PostgreSQL plans it once for all questions of one shape.

Half of a statement's four kilobytes and a quarter of its time would else go into reading and planning it anew.
"""

import secrets
from collections.abc import Mapping
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection

# No text of a caller can hold it, so that what is put in its place afterwards is the vector and nothing else.
_VECTOR = f"<{secrets.token_hex(16)}>"


def fetched(sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows; its parameter ``query``, if there is one, is the vector.

    Everything else is written into the statement, so that a plan that is kept for any vector is as good as one for
    this vector: no estimate depends on it. psycopg prepares a statement that a connection runs again and again.
    """
    connection.ensure_connection()
    # Of what is prepared the log of statements would show nothing.
    is_watched = connection.queries_logged
    if is_watched or not settings.DATABASE_PREPARED_STATEMENTS or "query" not in parameters:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())
    others = {name: value for name, value in parameters.items() if name != "query"}
    operations: Any = connection.ops  # the interface of PostgreSQL's, which the stubs do not know
    composed = operations.compose_sql(sql.replace("%(query)s", _VECTOR), others)
    bare: Any = psycopg.Cursor(connection.connection)
    with connection.make_cursor(bare) as server_bound:
        server_bound.execute(composed.replace("%", "%%").replace(_VECTOR, "%s"), [parameters["query"]])
        return list(server_bound.fetchall())
