"""A fresh stack filled with a scene."""

import os
import subprocess
import sys
from typing import Any

import httpx
import psycopg

from benchmarks.loading import Loader
from benchmarks.material import PROJECT, Material
from benchmarks.scene import SMALL_PROJECTS, Scene, fill
from benchmarks.stack import Stack


def filled(stack: Stack, admin: httpx.Client, material: Material, rows: int) -> Scene:
    """Make the projects and load what is in them, without the vector indexes, which are quicker built afterwards."""
    ids = [_project(admin, f"bench {number}") for number in range(SMALL_PROJECTS + 1)]
    with psycopg.connect(stack.settings["DATABASE_URL"], autocommit=True) as database:
        keys: dict[str, int] = dict(database.execute("SELECT public_id, id FROM tenancy_project").fetchall())
        (space,) = _one(database, "SELECT id FROM embeddings_embeddingspace WHERE is_current")
        for table in ("documents_chunkvector", "memories_entryvector"):
            database.execute(f"DROP INDEX {table}_hnsw_{space}")
    loader = Loader(stack.settings["DATABASE_URL"])
    try:
        return fill(loader, material, rows, space, [(name, keys[name]) for name in ids])
    finally:
        loader.close()


def built(stack: Stack) -> None:
    """Build the indexes as an operator would."""
    environment = {**os.environ, **stack.settings}
    subprocess.run(
        [sys.executable, "manage.py", "prepare_space", "--verbosity", "0"],
        cwd=PROJECT,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _project(admin: httpx.Client, name: str) -> str:
    return str(admin.post("/api/v1/projects", json={"name": name}).raise_for_status().json()["id"])


def _one(database: psycopg.Connection[Any], sql: str) -> tuple[Any, ...]:
    row = database.execute(sql).fetchone()
    if row is None:
        raise SystemExit("The stack has no vector space.")
    return tuple(row)
