"""A stack of its own for a measurement, in a folder that is gone afterwards."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

PROJECT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0
_OURS = ("DATABASE_URL", "CELERY_BROKER_URL", "SECRET_KEY", "SOAT_", "EMBEDDING_", "FILES_", "METRICS_")


@dataclass(frozen=True, slots=True)
class Stack:
    """A running stack: its address, the credentials of its admin, and what other commands need to join it."""

    url: str
    username: str
    password: str
    settings: Mapping[str, str]

    def client(self, token: str | None = None) -> httpx.Client:
        """Return a client that keeps its connection."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def admin(self) -> httpx.Client:
        """Return a client with an admin's session."""
        with self.client() as nobody:
            body = {"username": self.username, "password": self.password}
            token = nobody.post("/api/v1/users/login", json=body).raise_for_status().json()["token"]
        return self.client(token)


@contextmanager
def running_stack(given: Mapping[str, str] | None = None) -> Iterator[Stack]:
    """Run ``manage.py standalone`` on a fresh folder, with the settings that are given, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="soat-bench-", ignore_cleanup_errors=True) as folder:
        state = Path(folder) / "var"
        log = Path(folder) / "output.txt"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        environment |= given or {}
        command = [sys.executable, "manage.py", "standalone", "--state-dir", str(state), "--port", "0"]
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                command, cwd=PROJECT, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            _wait(process, log)
            values = _read(state / "credentials.env")
            yield Stack(
                values["SOAT_BASE_URL"],
                values["SOAT_ADMIN_USERNAME"],
                values["SOAT_ADMIN_PASSWORD"],
                _read(state / "server.env"),
            )
        finally:
            process.terminate()
            process.wait(60)


def _read(file: Path) -> dict[str, str]:
    """Return the variables of a file that a shell could read."""
    return dict(word.partition("=")[::2] for word in shlex.split(file.read_text(), comments=True))


def _wait(process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while "SOAT is ready at" not in log.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"The stack did not start:\n{log.read_text()[-2_000:]}")
        time.sleep(0.1)
