"""``manage.py evaluate_retrieval`` on a PostgreSQL and a broker of its own, gone afterwards.

    python -m benchmarks.retrieval [options of evaluate_retrieval]

Nothing of a server that runs on this machine is touched; what is kept is ``var/evaluation/vectors.sqlite3``.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from soat.standalone.broker import EmbeddedBroker
from soat.standalone.postgres import DATABASE_USER, EmbeddedPostgres
from soat.standalone.roster import Roster

PROJECT = Path(__file__).resolve().parents[1]
_OURS = ("DATABASE_URL", "CELERY_BROKER_URL", "SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "SOAT_", "FILES_", "METRICS_")
_KEPT = "SOAT_EVAL_DATA"
_LOCAL = {"EMBEDDING_PROVIDER": "local", "EMBEDDING_MODEL": "all-MiniLM-L6-v2", "EMBEDDING_DIMENSIONS": "384"}


def main() -> int:
    """Run it and return its status."""
    folder = Path(tempfile.mkdtemp(prefix="soat-evaluation-"))
    roster = Roster()
    roster.remove_at_end(folder)
    postgres = EmbeddedPostgres(folder / "postgres", folder / "postgres.log", durable=False)
    broker = EmbeddedBroker(folder / "broker", folder / "broker.log", durable=False)
    try:
        postgres.start(roster)
        postgres.create_database(DATABASE_USER)
        broker.start(roster)
        environment = _environment(folder, postgres.url(), broker.url)
        for command in (["migrate", "--verbosity=0"], ["prepare_space", "--verbosity=0"]):
            subprocess.run([sys.executable, "manage.py", *command], cwd=PROJECT, env=environment, check=True)  # noqa: S603
        evaluation = [sys.executable, str(PROJECT / "manage.py"), "evaluate_retrieval", *sys.argv[1:]]
        return subprocess.run(evaluation, env=environment, check=False).returncode  # noqa: S603
    finally:
        broker.stop(roster)
        postgres.stop(roster)
        roster.close()
        shutil.rmtree(folder, ignore_errors=True)


def _environment(folder: Path, database: str, broker: str) -> dict[str, str]:
    """Return the shell's environment without a deployment's settings; an embedder that it names is used."""
    kept = {name: value for name, value in os.environ.items() if name == _KEPT or not name.startswith(_OURS)}
    embedder = {} if kept.get("EMBEDDING_PROVIDER") else _LOCAL
    return {
        **kept,
        **embedder,
        "SOAT_STANDALONE": "true",
        "DATABASE_URL": database,
        "CELERY_BROKER_URL": broker,
        "FILES_STORAGE_PROVIDER": "local",
        "FILES_STORAGE_DIR": str(folder / "files"),
        "LOG_LEVEL": "WARNING",
    }


if __name__ == "__main__":
    sys.exit(main())
