"""A server made of separate processes, as in production, on a database and a broker of its own."""

import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import psycopg

from soat.standalone.broker import EmbeddedBroker
from soat.standalone.postgres import EmbeddedPostgres
from soat.standalone.programs import Program, Started, stop_all
from soat.standalone.readiness import free_port
from soat.standalone.roster import Roster
from tests.operations.compose import PROJECT, Service, image_healthcheck, service

PASSWORD = "a-password-that-no-log-may-show"
_KEPT = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "HOME")


def wait_until(holds: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait for something to become true, or fail."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


class Servers:
    """PostgreSQL, and the brokers and programs that are started beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.roster = Roster()
        self.postgres = EmbeddedPostgres(folder / "postgres", folder / "postgres.log", durable=False)
        self.brokers: list[EmbeddedBroker] = []
        self.postgres.start(self.roster)

    def stop(self) -> None:
        """Stop everything."""
        self.postgres.stop(self.roster)
        for broker in self.brokers:
            broker.stop(self.roster)
        self.roster.close()

    def start_broker(self, folder: Path) -> EmbeddedBroker:
        """Start one more broker, which lives as long as the others."""
        broker = EmbeddedBroker(folder / "broker", folder / "broker.log", durable=False)
        self.brokers.append(broker)
        broker.start(self.roster)
        return broker

    def copy_database(self, name: str, source: str) -> None:
        """Make a database like one that nobody is connected to."""
        with psycopg.connect(self.postgres.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{source}"')


class Deployment:
    """The services of docker-compose.yml, each a process tree, on a database and a broker of their own."""

    def __init__(self, servers: Servers, name: str, **dot_env: str) -> None:
        self.servers = servers
        self.name = name
        self.folder = servers.folder / name
        self.folder.mkdir()
        self.database_url = servers.postgres.url(name)
        self.broker = servers.start_broker(self.folder)
        self.broker_url = self.broker.url
        self.port = free_port("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.port}"
        self.secret_key = secrets.token_urlsafe(50)
        self.dot_env = {
            "SECRET_KEY": self.secret_key,
            "FIELD_ENCRYPTION_KEYS": "dGhlLXRlc3RzLWhhdmUtYS1rZXktb2YtdGhlaXItb3c=",
            "POSTGRES_PASSWORD": "letters-and-digits",
            "SOAT_BASE_URL": self.url,
            "METRICS_TOKEN": "a-token-for-the-metrics",
            **dot_env,
        }
        self.started: list[Started] = []

    def environment(self, name: str, **changes: str) -> dict[str, str]:
        """Return the environment of a service, its addresses and folders replaced by those of this machine."""
        own = {
            **self._localised(service(name, self.dot_env)).environment,
            "DATABASE_URL": self.database_url,
            "CELERY_BROKER_URL": self.broker_url,
            "WEB_BIND": f"127.0.0.1:{self.port}",
            "STATIC_ROOT": str(self.servers.folder / "static"),
            "HOSTNAME": socket.gethostname(),
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        # The tests may be run by root, which no image is.
        unheard = {"PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges"}
        return {**kept, "PATH": path, **unheard, **own, **changes}

    def _localised(self, original: Service) -> Service:
        def here(text: str) -> str:
            return re.sub(r"/(run/soat|srv/files)\b", lambda match: str(self.folder / Path(match[1]).name), text)

        (self.folder / "soat").mkdir(exist_ok=True)
        return Service(
            command=[here(part) for part in original.command],
            environment={name: here(value) for name, value in original.environment.items()},
            healthcheck=original.healthcheck,
        )

    def start(self, name: str, *arguments: str, label: str = "", directory: Path = PROJECT, **changes: str) -> Started:
        """Start a service; ``arguments`` come behind its own, ``changes`` are to its environment."""
        command = [*self._localised(service(name, self.dot_env)).command, *arguments]
        started = self.servers.roster.spawn(
            Program(
                name=label or name,
                argv=command,
                environment=self.environment(name, **changes),
                directory=directory,
                log=self.folder / f"{label or name}.log",
                layer=1,
                stop=((15, 20.0),),
            )
        )
        self.started.append(started)
        return started

    def run(self, name: str, command: Sequence[str] | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run a service to its end, or another command in its place."""
        return subprocess.run(
            command or self._localised(service(name, self.dot_env)).command,
            env=self.environment(name, **changes),
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def check_health(self, name: str) -> int:
        """Run the health check of a service, the image's if it has none of its own; return its status."""
        check = service(name, self.dot_env).healthcheck or image_healthcheck()
        command = [part.replace(":5047", f":{self.port}") for part in check]
        return self.run(name, command).returncode

    def stop(self) -> None:
        """Stop what was started, all at once."""
        stop_all([started.running for started in self.started])
        for started in self.started:
            started.process.wait()
            self.servers.roster.forget(started)

    def log(self, name: str) -> str:
        """Return what a service has written."""
        return (self.folder / f"{name}.log").read_text()

    def wait_ready(self, url: str | None = None) -> None:
        """Wait until the web server says that everything is there."""
        self._wait_for(f"{url or self.url}/health/ready")

    def wait_answering(self) -> None:
        """Wait until the web server says that it is there itself."""
        self._wait_for(f"{self.url}/health")

    def _wait_for(self, url: str) -> None:
        def answers() -> bool:
            try:
                return httpx.get(url, timeout=5).status_code == 200
            except httpx.TransportError:
                return False

        wait_until(answers)

    def wait_worker(self, label: str = "worker") -> None:
        """Wait until a worker takes tasks."""
        wait_until(lambda: re.search(r"@\S+ ready\.", self.log(label)))

    def execute(self, sql: str) -> None:
        """Change the database."""
        with psycopg.connect(self.database_url) as connection:
            connection.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Ask the database."""
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(sql).fetchall()


class Client:
    """Somebody who uses a server: an admin with a project."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=f"{url}/api/v1", timeout=60)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def enter(self) -> "Client":
        """Make the first user and a project."""
        account = {"username": "root", "password": PASSWORD}
        self.http.post("/users/bootstrap", json=account).raise_for_status()
        self.log_in()
        answer = self.http.post("/projects", json={"name": "Project"}).raise_for_status()
        self.project: str = answer.json()["id"]
        return self

    def log_in(self) -> "Client":
        """Take a token for the first user."""
        account = {"username": "root", "password": PASSWORD}
        token = self.http.post("/users/login", json=account).raise_for_status().json()["token"]
        self.http.headers["Authorization"] = f"Bearer {token}"
        return self

    def upload(self, name: str, text: str) -> str:
        """Store a text file; return its id."""
        answer = self.http.post(
            "/files/upload", data={"project_id": self.project}, files={"file": (name, text.encode(), "text/plain")}
        )
        return str(answer.raise_for_status().json()["id"])

    def ingest(self, file: str, *, wait: bool = False, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Have a file ingested."""
        return self.http.post(
            "/documents/ingest",
            params={"wait": "true"} if wait else {},
            json={"file_id": file, "project_id": self.project},
            headers=headers,
        ).raise_for_status()

    def status(self, document: str) -> str:
        """Return how far a document is."""
        return str(self.http.get(f"/documents/{document}/status").raise_for_status().json()["status"])

    def wait_ready(self, documents: Sequence[str], seconds: float = 60.0) -> None:
        """Wait until documents are ingested."""
        left = list(documents)

        def all_ready() -> bool:
            states = {document: self.status(document) for document in left}
            assert "failed" not in states.values()
            left[:] = [document for document, state in states.items() if state != "ready"]
            return not left

        wait_until(all_ready, seconds)
