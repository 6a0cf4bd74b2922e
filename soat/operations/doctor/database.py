"""The database: is it there, is it new enough, is its schema up to date, does its clock agree."""

import time
from collections.abc import Generator, Iterator

import psycopg
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from soat.operations.doctor.findings import Finding, fine, wrong

CONNECT_SECONDS = 5
OLDEST_PGVECTOR = (0, 8)
MOST_SKEW_SECONDS = 2.0


def check_database() -> Generator[Finding, None, bool]:
    """Look at the server and its schema; the value is whether the tables can be read."""
    try:
        # Past the pool, which waits and then does not say why there is no connection.
        psycopg.connect(**{**connection.get_connection_params(), "connect_timeout": CONNECT_SECONDS}).close()
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            version = str(cursor.fetchone()[0]).split()[0]
            cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            row = cursor.fetchone()
    except (DatabaseError, psycopg.Error) as error:
        yield wrong(
            "database",
            f"The database cannot be used: {_first_line(error)}.",
            why="Nothing works without it.",
            mend="start PostgreSQL and check host, port, name, user and password in DATABASE_URL.",
        )
        return False
    yield from _check_pgvector(version, row[0] if row else None)
    yield from _check_clock()
    return (yield from _check_migrations())


def _check_pgvector(version: str, pgvector: str | None) -> Iterator[Finding]:
    if pgvector is None:
        yield wrong(
            "database",
            f"PostgreSQL {version} answers, but the extension pgvector is not in this database.",
            why="Vectors are stored and searched with it.",
            mend="install pgvector 0.8 or later on the database server, then: python manage.py migrate"
            " (or, as a superuser of the database: CREATE EXTENSION vector).",
        )
    elif _numbers(pgvector) < OLDEST_PGVECTOR:
        yield wrong(
            "database",
            f"pgvector is of version {pgvector}; 0.8 or later is needed.",
            why="Older ones have no iterative scan: a search with filters finds too little.",
            mend="install pgvector 0.8 or later on the database server, then: ALTER EXTENSION vector UPDATE.",
        )
    else:
        yield fine("database", f"PostgreSQL {version} with pgvector {pgvector}")


def _check_clock() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        before = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        theirs = float(cursor.fetchone()[0])
        after = time.time()
    skew = max(before - theirs, theirs - after, 0.0)
    if skew > MOST_SKEW_SECONDS:
        yield wrong(
            "clock",
            f"This machine's clock and the database's are {skew:.1f} seconds apart.",
            why="Runs of ingestion are taken from workers that live, or left to those that died; logins end too early.",
            mend="let every machine set its clock by the network (chrony, systemd-timesyncd).",
        )
    else:
        yield fine("clock", "agrees with the database's")


def _check_migrations() -> Generator[Finding, None, bool]:
    executor = MigrationExecutor(connection)
    pending = [migration for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
    if not pending:
        yield fine("migrations", "all applied")
        return True
    names = ", ".join(f"{migration.app_label}.{migration.name}" for migration in pending[:3])
    yield wrong(
        "migrations",
        f"{len(pending)} migrations are not applied: {names}{' …' if len(pending) > 3 else ''}.",  # noqa: PLR2004
        why="The program expects tables and columns that are not there.",
        mend="python manage.py migrate && python manage.py prepare_space",
    )
    return False


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
