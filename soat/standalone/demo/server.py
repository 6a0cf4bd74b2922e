"""Run a whole server for as long as the demo takes."""

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from soat.standalone.demo.errors import DemoError
from soat.standalone.errors import StandaloneError
from soat.standalone.lock import sole_user
from soat.standalone.programs import Program, Started, last_lines
from soat.standalone.readiness import free_port
from soat.standalone.roster import Roster, stop_leftovers
from soat.standalone.state import StateFolder, read_env_file

PROJECT = Path(__file__).resolve().parents[3]

_HOST = "127.0.0.1"
_LOOK_SECONDS = 0.05
_PART = re.compile(r"^  (?P<name>\w+) +(?:ready after|done in) (?P<seconds>[\d.]+) s$")
_GREETING, _READY, _FAILED = "SOAT standalone", "SOAT is ready at ", "CommandError: "


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: where it is, and who may do what there."""

    base_url: str
    admin_username: str
    admin_password: str


@contextlib.contextmanager
def running_server(
    state: StateFolder, *, part: Callable[[str, str], None], note: Callable[[str], None]
) -> Generator[Server]:
    """Run ``manage.py standalone`` on a state folder and a free port; everything of it is gone in the end.

    That is so however we end, for a watchdog stops the server when we are killed. ``part`` hears each part
    that has come up and how many seconds it took, ``note`` whatever else the server says meanwhile. Raises
    ``DemoError`` when it does not come up.
    """
    _make(state)
    ledger = state.run / "demo.json"
    with _only_demo(state):
        stop_leftovers(ledger, notice=note)
        roster = Roster(ledger)
        try:
            port = free_port(_HOST, 0)
            started = roster.spawn(_program(state, port))
            try:
                _await_ready(started, part, note)
                yield _server(port, read_env_file(state.credentials))
            finally:
                _stop(started)
                roster.forget(started)
        finally:
            roster.close()


def _make(state: StateFolder) -> None:
    # The folder above is that of ``make run``: we only pass through it.
    with contextlib.suppress(OSError):
        state.root.parent.mkdir(mode=0o711, exist_ok=True)
    state.make()


@contextlib.contextmanager
def _only_demo(state: StateFolder) -> Generator[None]:
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(sole_user(state.run))
        except StandaloneError:
            raise DemoError(f"A demo runs already on {state.root}: wait for it to end.") from None
        yield


def _program(state: StateFolder, port: int) -> Program:
    environment = {
        **os.environ,
        # Whatever the shell or .env says of a server's address: this one is here.
        "SOAT_BASE_URL": f"http://{_HOST}:{port}",
        "ALLOWED_HOSTS": "",
    }
    return Program(
        name="server",
        argv=[
            *(sys.executable, str(PROJECT / "manage.py"), "standalone"),
            *("--state-dir", str(state.root), "--host", _HOST, "--port", str(port)),
        ],
        environment=environment,
        directory=PROJECT,
        log=state.log("standalone"),
        # It stops its own children with patience, PostgreSQL last.
        stop=((int(signal.SIGTERM), 100.0),),
    )


def _await_ready(started: Started, part: Callable[[str, str], None], note: Callable[[str], None]) -> None:
    """Follow what the server prints until it says that it is ready."""
    for line in _lines(started):
        if line.startswith(_READY):
            return
        if line.startswith(_FAILED):
            started.process.wait()
            break
        if found := _PART.match(line):
            part(found["name"], found["seconds"])
        elif not line.startswith(_GREETING):
            note(line.strip())
    said = last_lines(started.program.log, since=started.log_start, count=30)
    raise DemoError(f"The server did not start: {said.rpartition(_FAILED)[2] or 'it says nothing.'}")


def _lines(started: Started) -> Generator[str]:
    """Yield the lines of a program's log as they come, until it has ended."""
    with started.program.log.open(encoding="utf-8", errors="replace") as log:
        log.seek(started.log_start)
        line = ""
        while True:
            has_ended = started.exit_status() is not None
            line += log.readline()
            if line.endswith("\n"):
                yield line
                line = ""
            elif has_ended:
                return
            else:
                time.sleep(_LOOK_SECONDS)


def _server(port: int, credentials: Mapping[str, str]) -> Server:
    """Return the server with an admin, who may make the demo's project."""
    values = {**os.environ, **credentials}
    if not values.get("SOAT_ADMIN_PASSWORD"):
        raise DemoError(
            "The database has users already, and their passwords are unknown here: set SOAT_ADMIN_USERNAME and "
            "SOAT_ADMIN_PASSWORD to those of an admin."
        )
    return Server(f"http://{_HOST}:{port}", values["SOAT_ADMIN_USERNAME"], values["SOAT_ADMIN_PASSWORD"])


def _stop(started: Started) -> None:
    """Stop the server and wait for that; whoever asks once more hurries it."""
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            started.stop()
            return
