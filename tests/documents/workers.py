"""Real Celery processes on the database and the broker of the tests."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from django.db import connection

from soat.standalone.processes import group_members

ROOT = Path(__file__).resolve().parents[2]


class Processes:
    """Starts processes, each with a process group of its own, and leaves none behind."""

    def __init__(self, folder: Path, **settings: str) -> None:
        url = urlsplit(os.environ["DATABASE_URL"])
        database = url._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
        self._environment = {**os.environ, **settings, "DATABASE_URL": database, "PYTHONUNBUFFERED": "1"}
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def worker(self) -> subprocess.Popen[bytes]:
        """Start a worker with one child for all queues."""
        name = f"worker{len(self._started)}@{os.getpid()}"
        return self._start("worker", "--queues", "default,ingestion", "--concurrency", "1", "--hostname", name)

    def beat(self) -> subprocess.Popen[bytes]:
        """Start the clock of the periodic tasks."""
        return self._start("beat", "--schedule", str(self._folder / "beat"), "--pidfile=")

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "soat.celery", *arguments]
        with (self._folder / f"{arguments[0]}-{len(self._started)}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def logs(self) -> str:
        """Return what the processes have written."""
        return "\n".join(f"== {log.name}\n{log.read_text()}" for log in sorted(self._folder.glob("*.log")))

    def end(self) -> None:
        """Kill what is left."""
        for process in self._started:
            kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Do what ``kill -9`` does to a whole process group, and wait until it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 10
    while group_members(process.pid):
        assert time.monotonic() < deadline, "a killed process lives on"
        time.sleep(0.02)


@contextlib.contextmanager
def running(folder: Path, **settings: str) -> Iterator[Processes]:
    """Give the block a way to start processes; they are gone afterwards, and their logs shown where it fails."""
    processes = Processes(folder, **settings)
    try:
        yield processes
    except BaseException:
        print(processes.logs())
        raise
    finally:
        processes.end()
