"""Filling a stack with chunks and entries, by COPY straight into the tables, vectors and all.

What is filled in is what ingestion and the write funnel leave behind; only their work is left out.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector

from benchmarks.material import Rows
from soat.core.ids import new_public_id

Connection = psycopg.Connection[Any]

CHUNKS_A_DOCUMENT = 100
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_TABLES = (
    *("files_file", "documents_document", "documents_ingestionattempt", "documents_documentchunk"),
    *("documents_chunkvector", "memories_memory", "memories_memoryentry", "memories_entryvector"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows go: the database keys of a project and of the space."""

    project: int
    space: int


class Loader:
    """Copies rows into the tables of one database; their keys go on from the highest there is."""

    def __init__(self, url: str) -> None:
        self._connection: Connection = psycopg.connect(url, autocommit=True)
        register_vector(self._connection)
        self._next = {table: self._highest(table) for table in _TABLES}

    def close(self) -> None:
        """Let the tables' own counters follow, take statistics, and close."""
        for table in _TABLES:
            self._connection.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {self._highest(table)})")
            self._connection.execute(f"VACUUM (ANALYZE) {table}")
        self._connection.close()

    def documents(self, place: Place, paths: Sequence[str], texts: Sequence[str], vectors: Rows) -> list[str]:
        """Store a document for each path, with ``CHUNKS_A_DOCUMENT`` chunks or what is left; return their ids."""
        files, documents, attempts = (self._keys(_TABLES[number], len(paths)) for number in range(3))
        names = [new_public_id("doc") for _ in paths]
        self._copy(
            "files_file",
            {
                "id": files,
                "created_at": _NOW,
                "updated_at": _NOW,
                "project_id": place.project,
                "public_id": [new_public_id("file") for _ in paths],
                "path": paths,
                "prefix": "/",
                "tags": "{}",
                "filename": [path.rpartition("/")[2] for path in paths],
                "content_type": "text/plain",
                "size": 1_000,
                "storage_key": [f"bench/{key}" for key in files],
            },
        )
        self._copy(
            "documents_document",
            {
                "id": documents,
                "created_at": _NOW,
                "updated_at": _NOW,
                "project_id": place.project,
                "public_id": names,
                "owns_file": True,
                "path": paths,
                "status": "ready",
                "chunk_strategy": "page",
                "file_id": files,
            },
        )
        sizes = [min(CHUNKS_A_DOCUMENT, len(vectors) - CHUNKS_A_DOCUMENT * number) for number in range(len(paths))]
        self._copy(
            "documents_ingestionattempt",
            {
                "id": attempts,
                "number": 1,
                "state": "ready",
                "automatic": 0,
                "chunk_strategy": "page",
                "total_chunks": sizes,
                "chunk_count": sizes,
                "error": "",
                "error_detail": "",
                "warnings": "[]",
                "worker": "",
                "created_at": _NOW,
                "published_at": _NOW,
                "project_id": place.project,
                "document_id": documents,
            },
        )
        self._connection.execute(
            "UPDATE documents_document d SET current_attempt_id = a.id, settled_attempt_id = a.id"
            " FROM documents_ingestionattempt a WHERE a.document_id = d.id AND d.id BETWEEN %s AND %s",
            [documents[0], documents[-1]],
        )
        self._chunks(place, documents, attempts, texts, vectors)
        return names

    def _chunks(self, place: Place, documents: range, attempts: range, texts: Sequence[str], vectors: Rows) -> None:
        chunks = self._keys("documents_documentchunk", len(vectors))
        owners = [number // CHUNKS_A_DOCUMENT for number in range(len(vectors))]
        self._copy(
            "documents_documentchunk",
            {
                "id": chunks,
                "public_id": [new_public_id("dchunk") for _ in chunks],
                "created_at": _NOW,
                "index": [number % CHUNKS_A_DOCUMENT for number in range(len(chunks))],
                "start": 0,
                "end": 0,
                "content": [texts[number % len(texts)] for number in range(len(chunks))],
                "awaits_vector": False,
                "document_id": [documents[owner] for owner in owners],
                "project_id": place.project,
                "attempt_id": [attempts[owner] for owner in owners],
            },
        )
        self._copy_vectors("documents_chunkvector", place, {"chunk_id": chunks}, vectors)

    def memory(self, place: Place, name: str, tags: Sequence[list[str]], texts: Sequence[str], vectors: Rows) -> str:
        """Store a memory with an entry for each of ``tags``; return its id."""
        (memory,) = self._keys("memories_memory", 1)
        public_id = new_public_id("mem")
        own = {"created_at": _NOW, "updated_at": _NOW, "project_id": place.project}
        row = {"id": [memory], "public_id": public_id, "name": name, "tags": [[]], "revision": len(tags)}
        self._copy("memories_memory", {**own, **row})
        entries = self._keys("memories_memoryentry", len(tags))
        self._copy(
            "memories_memoryentry",
            {
                **own,
                "id": entries,
                "public_id": [new_public_id("mem_entry") for _ in entries],
                "memory_id": memory,
                "content": [texts[number % len(texts)] for number in range(len(tags))],
                "content_hash": bytes(32),
                "source_type": "manual",
                "tags": tags,
                "awaits_vector": False,
                "revision": 1,
                "version": 1,
            },
        )
        self._copy_vectors("memories_entryvector", place, {"entry_id": entries, "memory_id": memory}, vectors)
        return public_id

    def _highest(self, table: str) -> int:
        row = self._connection.execute(f"SELECT coalesce(max(id), 1) FROM {table}").fetchone()  # noqa: S608
        return int(row[0]) if row else 1

    def _keys(self, table: str, count: int) -> range:
        first = self._next[table] + 1
        self._next[table] += count
        return range(first, first + count)

    def _copy(self, table: str, columns: Mapping[str, Any]) -> None:
        """Copy rows that are given by columns: a list or range has a value for each row, anything else is for all."""
        names = ", ".join(f'"{name}"' for name in columns)
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy,
        ):
            for row in _rows(columns.values()):
                copy.write_row(row)

    def _copy_vectors(self, table: str, place: Place, keys: Mapping[str, Any], vectors: Rows) -> None:
        """Copy in binary, which takes a third of the time of text."""
        columns = {"id": self._keys(table, len(vectors)), "project_id": place.project, "space_id": place.space, **keys}
        names = ", ".join(f'"{name}"' for name in (*columns, "window", "embedding"))
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({names}) FROM STDIN WITH (FORMAT BINARY)") as copy,
        ):
            copy.set_types([*["int8"] * len(columns), "int2", "vector"])
            for row, vector in zip(_rows(columns.values()), vectors, strict=True):
                copy.write_row((*row, 0, Vector(vector)))


def _rows(columns: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    columns = list(columns)
    count = next(len(column) for column in columns if isinstance(column, list | range))
    return zip(
        *(column if isinstance(column, list | range) else itertools.repeat(column, count) for column in columns),
        strict=True,
    )
