"""Pytest plugin: a PostgreSQL server and a broker for the tests, unless the environment names some.

Loaded by ``-p tests.stack``. Under pytest-xdist the controlling process starts them and the workers
find their addresses in the environment.
"""

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from soat.standalone.broker import EmbeddedBroker
from soat.standalone.postgres import EmbeddedPostgres
from soat.standalone.roster import Roster

_DEFAULTS = {
    "SECRET_KEY": "a-key-that-only-the-tests-have-and-that-is-long-enough",
    "FIELD_ENCRYPTION_KEYS": "dGhlLXRlc3RzLWhhdmUtYS1rZXktb2YtdGhlaXItb3c=",
    "EMBEDDING_PROVIDER": "local",
    "EMBEDDING_MODEL": "all-MiniLM-L6-v2",
    "EMBEDDING_DIMENSIONS": "384",
    "SOAT_STANDALONE": "true",
    "FILES_STORAGE_PROVIDER": "local",
}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Start what is missing before anything reads the settings."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        _start(early_config)
    else:
        os.environ["CELERY_BROKER_URL"] = _own_broker(os.environ["CELERY_BROKER_URL"], worker)
    return (yield)


def _own_broker(url: str, worker: str) -> str:
    """Give each worker a database of the broker, so that no Celery of one takes the messages of another.

    They have names such as ``gw1``; a broker has 16 databases, and the controller uses none.
    """
    number = int(worker.removeprefix("gw")) + 1
    if url.startswith("redis+socket:"):
        return f"{url}?virtual_host={number}"
    return f"{url.rpartition('/')[0]}/{number}" if url.count("/") > 2 else f"{url}/{number}"


def _start(config: pytest.Config) -> None:
    folder = Path(tempfile.mkdtemp(prefix="soat-tests-"))
    roster = Roster()
    roster.remove_at_end(folder)
    # Registered first and so called last: the folder goes when the servers are gone.
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    config.add_cleanup(roster.close)
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    if "FILES_STORAGE_DIR" not in os.environ:
        os.environ["FILES_STORAGE_DIR"] = str(folder / "files")
    if not os.environ.get("DATABASE_URL"):
        postgres = EmbeddedPostgres(folder / "postgres", folder / "postgres.log", durable=False)
        config.add_cleanup(lambda: postgres.stop(roster))
        postgres.start(roster)
        os.environ["DATABASE_URL"] = postgres.url()
    if not os.environ.get("CELERY_BROKER_URL"):
        broker = EmbeddedBroker(folder / "broker", folder / "broker.log", durable=False)
        config.add_cleanup(lambda: broker.stop(roster))
        broker.start(roster)
        os.environ["CELERY_BROKER_URL"] = broker.url
