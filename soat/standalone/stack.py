"""The whole stack: which programs there are, what they are told, and in which order they come and go."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from soat.standalone.broker import START_SECONDS as BROKER_SECONDS
from soat.standalone.broker import EmbeddedBroker
from soat.standalone.console import Console
from soat.standalone.lock import sole_user
from soat.standalone.postgres import DATABASE_USER, EmbeddedPostgres
from soat.standalone.postgres import START_SECONDS as POSTGRES_SECONDS
from soat.standalone.programs import Program, StopStep
from soat.standalone.readiness import answers_http, answers_ping, bracketed, free_port, reachable
from soat.standalone.roster import Roster, stop_leftovers
from soat.standalone.state import StateFolder, keep_secrets, write_env_file
from soat.standalone.supervisor import Child, Interrupted, Supervisor

PROJECT = Path(__file__).resolve().parents[2]

_ABOVE_THE_SERVERS = 1
_READY_SECONDS = 120.0
_STOP_WEB: tuple[StopStep, ...] = ((int(signal.SIGTERM), 12.0),)
# Finish the task at hand; then give it back; then be killed, and its lease runs out.
_STOP_WORKER: tuple[StopStep, ...] = ((int(signal.SIGTERM), 10.0), (int(signal.SIGQUIT), 3.0))
_STOP_BEAT: tuple[StopStep, ...] = ((int(signal.SIGTERM), 5.0),)
_EMBEDDING = ("PROVIDER", "MODEL", "DIMENSIONS", "API_KEY", "BASE_URL", "REGION")
_SHARED = ("DATABASE_URL", "CELERY_BROKER_URL", "FILES_", "EMBEDDING_", "OLLAMA_")
"""How the variables begin that a management command needs as well, when the environment has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a person chooses on the command line.

    ``setup`` is the management command that is run before the web server starts, if any; ``port`` 0 is
    any free one; ``workers`` is how many tasks run at once.
    """

    state: StateFolder
    host: str
    port: int
    web_threads: int
    workers: int
    setup: Sequence[str]


class Stack:
    """The programs of one run and what they are told."""

    def __init__(self, options: Options, console: Console) -> None:
        self._options = options
        self._console = console
        self._state = state = options.state
        self._postgres = None if _given("DATABASE_URL") else EmbeddedPostgres(state.postgres, state.log("database"))
        self._broker = None if _given("CELERY_BROKER_URL") else EmbeddedBroker(state.broker, state.log("broker"))
        self._node = f"standalone-{os.getpid()}@{socket.gethostname()}"
        self._port = options.port
        self._settings: dict[str, str] = {}

    def run(self) -> None:
        """Run until somebody asks us to stop.

        Raises ``StandaloneError`` when the stack cannot start, or a part of it cannot be kept running.
        """
        self._state.make()
        with sole_user(self._state.root):
            stop_leftovers(self._state.ledger, notice=self._console.note)
            self._port = free_port(self._options.host, self._options.port)
            self._settings = self._decide()
            self._supervise()
        self._console.note("stopped")

    def processes(self) -> list[Child]:
        """Return what stands on the servers, in the order in which it is started."""
        options = self._options
        broker_url = self._settings["CELERY_BROKER_URL"]
        web = [
            *("-m", "gunicorn", "--config", "python:soat.gunicorn", "soat.wsgi:application"),
            *("--bind", f"{bracketed(options.host)}:{self._port}"),
            *("--workers", "1", "--threads", str(options.web_threads), "--graceful-timeout", "10"),
        ]
        celery = ["-m", "celery", "-A", "soat.celery"]
        worker = [
            *(*celery, "worker", "--queues", "default,ingestion", "--hostname", self._node),
            *("--concurrency", str(options.workers), "--loglevel", "INFO"),
            *("--without-mingle", "--without-gossip"),  # looking for other workers takes a second of the start
        ]
        return [
            self._child("web", web, lambda: answers_http(options.host, self._port, "/health"), _STOP_WEB),
            self._child("worker", worker, lambda: answers_ping(broker_url, self._node), _STOP_WORKER),
            self._beat(celery),
        ]

    def _beat(self, celery: list[str]) -> Child:
        schedule = self._state.run / "celerybeat-schedule"
        # Without a pid file: one that a killed beat left behind would keep the next from starting.
        arguments = [*celery, "beat", "--schedule", str(schedule), "--pidfile=", "--loglevel", "INFO"]
        program = self._program("beat", arguments, layer=_ABOVE_THE_SERVERS, stop=_STOP_BEAT)

        def prepare() -> Program:
            for file in _files_of(schedule):
                file.unlink(missing_ok=True)
            return program

        # Beat answers nobody, but it makes the file of its schedule when it is up. One that was there
        # before would not tell: some kinds (Berkeley's ndbm) are not written to until beat ends. Nothing
        # is lost with it, for the tasks come every minute or so.
        return Child(
            name="beat",
            prepare=prepare,
            is_ready=lambda: bool(_files_of(schedule)),
            ready_within=_READY_SECONDS,
        )

    def _supervise(self) -> None:
        roster = Roster(self._state.ledger)
        supervisor = Supervisor(roster, self._console.report)
        with supervisor.signals():
            try:
                self._start(supervisor)
                supervisor.watch()
            except Interrupted:
                self._console.note("stopping (once more to hurry)")
            finally:
                supervisor.stop()
                self._clean_up()
                roster.close()
        supervisor.close()

    def _start(self, supervisor: Supervisor) -> None:
        """Start everything, the servers first, and say where it is."""
        supervisor.start(self._servers())
        if self._postgres is not None:
            self._postgres.create_database(DATABASE_USER)
        write_env_file(self._state.server, self._settings)
        if self._options.setup:
            supervisor.run_once(self._program("setup", [str(PROJECT / "manage.py"), *self._options.setup], layer=0))
        supervisor.start(self.processes())
        credentials = self._state.credentials
        self._console.ready(self._settings["SOAT_BASE_URL"], self._state.root, credentials)

    def _clean_up(self) -> None:
        """Remove what is of no use when nothing runs."""
        self._state.server.unlink(missing_ok=True)
        for server in (self._postgres, self._broker):
            if server is not None:
                server.clean_up()

    def _decide(self) -> dict[str, str]:
        """Return the settings that the stack makes, each unless the environment has it already."""
        made = keep_secrets(self._state.secrets)
        host = bracketed(reachable(self._options.host))
        made |= {"SOAT_BASE_URL": f"http://{host}:{self._port}", "FILES_STORAGE_PROVIDER": "local"}
        if _given("FILES_STORAGE_PROVIDER") in {None, "local"}:
            made["FILES_STORAGE_DIR"] = str(self._state.files)
        made["METRICS_DIR"] = str(self._state.run / "metrics")
        if self._postgres is not None:
            made["DATABASE_URL"] = self._postgres.url()
        if self._broker is not None:
            made["CELERY_BROKER_URL"] = self._broker.url
        if not any(_given(f"EMBEDDING_{name}") for name in _EMBEDDING):
            made |= {
                "EMBEDDING_PROVIDER": "local",
                "EMBEDDING_MODEL": "all-MiniLM-L6-v2",
                "EMBEDDING_DIMENSIONS": "384",
            }
        shared = {name: value for name, value in os.environ.items() if name.startswith(_SHARED) and value.strip()}
        own = {name: _given(name) or value for name, value in made.items()}
        return {**shared, **own, "SOAT_STANDALONE": "true"}

    def _servers(self) -> list[Child]:
        children = []
        if self._postgres is not None:
            postgres = self._postgres
            children.append(
                Child(
                    name="database",
                    prepare=postgres.prepare,
                    is_ready=postgres.is_healthy,
                    ready_within=POSTGRES_SECONDS,
                )
            )
        if self._broker is not None:
            broker = self._broker
            children.append(
                Child(name="broker", prepare=broker.prepare, is_ready=broker.is_healthy, ready_within=BROKER_SECONDS)
            )
        return children

    def _child(
        self, name: str, arguments: list[str], is_ready: Callable[[], bool], stop: tuple[StopStep, ...]
    ) -> Child:
        program = self._program(name, arguments, layer=_ABOVE_THE_SERVERS, stop=stop)
        return Child(name=name, prepare=lambda: program, is_ready=is_ready, ready_within=_READY_SECONDS)

    def _program(
        self, name: str, arguments: list[str], *, layer: int, stop: tuple[StopStep, ...] = _STOP_BEAT
    ) -> Program:
        return Program(
            name=name,
            argv=[sys.executable, *arguments],
            environment={**os.environ, **self._settings, "PYTHONUNBUFFERED": "1"},
            directory=PROJECT,
            log=self._state.log(name),
            layer=layer,
            stop=stop,
        )


def _files_of(database: Path) -> list[Path]:
    # What they are called in the end is up to the kind of database that this Python has.
    return list(database.parent.glob(f"{database.name}*"))


def _given(name: str) -> str | None:
    """Return what the environment says, ``None`` for nothing or an empty value."""
    return os.environ.get(name, "").strip() or None
