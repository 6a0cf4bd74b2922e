"""What partitions by project would do, tried on copies of a vector table: ``python -m benchmarks.partitions [rows]``.

One table with one HNSW index beside eight partitions by hash of the project with an index each; the same vectors,
spread over as many projects as there are partitions. Behind it stands docs/scaling.md.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector

from benchmarks.machine import machine
from benchmarks.material import DIMENSIONS, Rows, embedded_material
from benchmarks.timing import interleaved, print_table
from embeddings.sql import vector_literal
from soat.standalone.postgres import DATABASE_USER, EmbeddedPostgres
from soat.standalone.roster import Roster

ROWS = 50_000
PARTS = 8
ASKED = 100
# As embeddings.indexes builds them, and soat.settings connects.
BUILD = "m = 24, ef_construction = 128"
OPTIONS = "-c hnsw.iterative_scan=relaxed_order -c hnsw.ef_search=400 -c hnsw.scan_mem_multiplier=4"
COLUMNS = f"project_id bigint NOT NULL, chunk_id bigint NOT NULL, embedding vector({DIMENSIONS}) NOT NULL"
WHOLE, PARTED = "one table", f"{PARTS} partitions"

Database = psycopg.Connection[Any]


def main() -> None:
    """Build both, search both, and print tables."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    print(machine())
    material = embedded_material()
    with (
        tempfile.TemporaryDirectory(prefix="soat-bench-", ignore_cleanup_errors=True) as folder,
        closing(Roster()) as roster,
    ):
        server = EmbeddedPostgres(Path(folder) / "postgres", Path(folder) / "postgres.log", durable=False)
        server.start(roster)
        try:
            server.create_database(DATABASE_USER)
            with psycopg.connect(server.url(), autocommit=True, options=OPTIONS) as database:
                _make(database, material.rows(rows, np.random.default_rng(42)))
                _search(database, material.queries[:ASKED])
        finally:
            server.stop(roster)


def _make(database: Database, vectors: Rows) -> None:
    database.execute("CREATE EXTENSION vector")
    register_vector(database)
    database.execute(f"CREATE TABLE whole ({COLUMNS}, PRIMARY KEY (chunk_id))")
    database.execute(
        f"CREATE TABLE parted ({COLUMNS}, PRIMARY KEY (project_id, chunk_id)) PARTITION BY HASH (project_id)"
    )
    for number in range(PARTS):
        database.execute(
            f"CREATE TABLE parted_{number} PARTITION OF parted FOR VALUES WITH (MODULUS {PARTS}, REMAINDER {number})"
        )
    projects = _one_for_each_part(database)
    for table in ("whole", "parted"):
        begun = time.perf_counter()
        with database.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN WITH (FORMAT BINARY)") as copy:
            copy.set_types(["int8", "int8", "vector"])
            for number, vector in enumerate(vectors):
                # In blocks, as the chunks of a document are: neighbours are of one project.
                copy.write_row((projects[number // 100 % PARTS], number, Vector(vector)))
        loaded = time.perf_counter()
        database.execute(
            f"CREATE INDEX ON {table} USING hnsw ((embedding::halfvec({DIMENSIONS})) halfvec_cosine_ops) WITH ({BUILD})"
        )
        database.execute(f"CREATE INDEX ON {table} (project_id)")
        print(f"{table}: loaded in {loaded - begun:.1f} s, indexes built in {time.perf_counter() - loaded:.1f} s")
        database.execute(f"VACUUM (ANALYZE) {table}")


def _one_for_each_part(database: Database) -> list[int]:
    """Return the first projects of which each falls into another partition."""
    found: dict[int, int] = {}
    for project in range(1, 1_000):
        for number in range(PARTS):
            sql = "SELECT satisfies_hash_partition('parted'::regclass, %s, %s, %s::bigint)"
            if _all(database, sql, [PARTS, number, project])[0][0]:
                found.setdefault(number, project)
    return list(found.values())


def _search(database: Database, queries: Rows) -> None:
    literals = [vector_literal(query) for query in queries]
    project = _all(database, "SELECT min(project_id) FROM whole")[0][0]
    scopes = {"one project": f"WHERE project_id = {project}", "all projects": ""}
    acts, recalls = {}, {}
    for scope, condition in scopes.items():
        for name, table in ((WHOLE, "whole"), (PARTED, "parted")):
            sql = _nearest(table, condition)
            acts[f"{scope}, {name}"] = _each(database, sql, literals)
            recalls[f"{scope}, {name}"] = _recall(database, sql, condition, literals)
    print()
    print_table(interleaved(acts, rounds=ASKED), beside=f"one project, {WHOLE}")
    for name, recall in recalls.items():
        print(f"recall@10 {name:34} {recall:.4f}")
    print("\nThe plan for one project:")
    for (line,) in _all(
        database, f"EXPLAIN (COSTS OFF) {_nearest('parted', scopes['one project'])}", {"query": literals[0]}
    ):
        print(f"  {line[:100]}")


def _nearest(table: str, condition: str) -> str:
    return (  # constants only; the query is a parameter
        f"SELECT chunk_id FROM {table} {condition}"  # noqa: S608
        f" ORDER BY embedding::halfvec({DIMENSIONS}) <=> %(query)s::halfvec({DIMENSIONS}) LIMIT 10"
    )


def _recall(database: Database, sql: str, condition: str, literals: Sequence[str]) -> float:
    exact = f"SELECT chunk_id FROM whole {condition} ORDER BY embedding <=> %(query)s::vector LIMIT 10"  # noqa: S608
    shares = []
    for literal in literals:
        near = {row for (row,) in _all(database, exact, {"query": literal})}
        shares.append(len(near & {row for (row,) in _all(database, sql, {"query": literal})}) / len(near))
    return statistics.mean(shares)


def _each(database: Database, sql: str, literals: Sequence[str]) -> Any:
    following = iter(list(literals) * 3)
    return lambda: _all(database, sql, {"query": next(following)})


def _all(database: Database, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
    with psycopg.ClientCursor(database) as cursor:
        return cursor.execute(sql, values).fetchall()


if __name__ == "__main__":
    main()
