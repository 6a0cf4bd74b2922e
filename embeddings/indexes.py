"""The HNSW index of each vector table in each space, built outside of migrations.

No migration depends on the environment: the number of dimensions is a setting, so the index is
made by ``manage.py prepare_space``, concurrently with reads and writes.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.transaction import TransactionManagementError

from embeddings.models import EmbeddingSpace, StoredVector
from embeddings.progress import Report, reported


def vector_tables() -> list[type[StoredVector]]:
    """Return the models that hold vectors, in a fixed order."""
    models = [model for model in apps.get_models() if issubclass(model, StoredVector)]
    return sorted(models, key=lambda model: model._meta.db_table)  # noqa: SLF001  (Django's own public name)


def index_name(model: type[StoredVector], space: EmbeddingSpace) -> str:
    """Return the name of the index of ``model`` in ``space``."""
    return f"{model._meta.db_table}_hnsw_{space.pk}"  # noqa: SLF001


def missing_indexes(space: EmbeddingSpace) -> list[type[StoredVector]]:
    """Return the vector tables whose index in ``space`` is not there or was left half built."""
    names = {index_name(model, space): model for model in vector_tables()}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE i.indisvalid AND c.relname = ANY(%s)",
            [list(names)],
        )
        built = {name for (name,) in cursor.fetchall()}
    return [model for name, model in names.items() if name not in built]


# Of the ten nearest of 100,000 pgvector's defaults (16 and 64) miss .065 with an ef_search of 200, these half of that
# or less, for twice the time of the build (docs/performance.md).
CONNECTIONS = 24
CANDIDATES = 128
_BUILD_LOCK = 0x50A7_1DE
_POLL_SECONDS = 0.2


def build_index(model: type[StoredVector], space: EmbeddingSpace, report: Report | None = None) -> None:
    """Build the index concurrently; what an interrupted build left behind is dropped first.

    Of several processes at once one builds and the others wait for it. ``report`` is told of the progress, from
    another thread. Raises ``TransactionManagementError`` inside of a transaction.
    """
    if connection.in_atomic_block:
        # The lock below is the session's: an aborted transaction could not give it back.
        raise TransactionManagementError("An index is built concurrently, which no transaction allows.")
    name = connection.ops.quote_name(index_name(model, space))
    table = connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001
    with _building_alone(), connection.cursor() as cursor:
        if model not in missing_indexes(space):
            return
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        with reported(model._meta.db_table, report):  # noqa: SLF001
            cursor.execute(
                f"CREATE INDEX CONCURRENTLY {name} ON {table}"
                f" USING hnsw ((embedding::halfvec({space.dimensions:d})) halfvec_cosine_ops)"
                f" WITH (m = {CONNECTIONS}, ef_construction = {CANDIDATES}) WHERE space_id = {space.pk:d}"
            )


@contextmanager
def _building_alone() -> Iterator[None]:
    """Hold the lock of all builds.

    It is asked for again and again: a statement that waited for it would hold a snapshot, for whose
    end the other one's concurrent build waits.
    """
    with connection.cursor() as cursor:
        while not _had(cursor, "SELECT pg_try_advisory_lock(%s)"):
            time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            _had(cursor, "SELECT pg_advisory_unlock(%s)")


def _had(cursor: CursorWrapper, sql: str) -> bool:
    cursor.execute(sql, [_BUILD_LOCK])
    return bool(cursor.fetchone() == (True,))
