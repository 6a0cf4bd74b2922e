"""Start programs and stop them, so that nothing of them stays behind."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from soat.standalone import processes
from soat.standalone.accounts import Account
from soat.standalone.errors import StandaloneError

POLL_SECONDS = 0.02

StopStep = tuple[int, float]
"""A signal for the first process of a program, and for how many seconds it may take effect."""

_HURRIED_SECONDS = 3.0

TERMINATE: tuple[StopStep, ...] = ((signal.SIGTERM, 10.0),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run.

    ``stop`` says how it is asked to end before its whole process group is killed. Programs of a
    higher ``layer`` stand on the lower ones and are stopped before them. ``account`` is whom to run
    it as, ``None`` for ourselves. ``scratch`` is a folder that goes when the program does.
    """

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    log: Path
    layer: int = 0
    stop: tuple[StopStep, ...] = TERMINATE
    account: Account | None = None
    scratch: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What has to be known to stop a running program, also by someone who did not start it.

    ``pid`` is the id of its first process, of its process group and of its session; ``run`` the id
    of the run it belongs to.
    """

    name: str
    pid: int
    identity: str
    run: str
    layer: int
    stop: tuple[StopStep, ...]

    def is_alive(self) -> bool:
        """Tell whether the first process lives; a zombie does not."""
        return processes.identity(self.pid) == self.identity

    def remaining(self) -> list[int]:
        """Return the living processes of its group, and never those of a later group with that number."""
        members = processes.group_members(self.pid)
        if self.is_alive():
            return members
        return [pid for pid in members if processes.belongs_to_run(pid, self.run)]

    def to_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Read what ``to_json`` gave."""
        steps = tuple((int(number), float(seconds)) for number, seconds in values["stop"])
        return cls(**{**values, "stop": steps})


def spawn(program: Program, *, run: str, announce: Callable[[Running], None]) -> "Started":
    """Start a program in a session of its own, its output appended to its log.

    The process waits until ``announce`` has returned and only then becomes the program: whoever is
    to clean up after us knows of it before it can do anything, and if we die meanwhile it ends.
    """
    program.log.parent.mkdir(parents=True, exist_ok=True)
    gate = 'read -r go && exec "$@" </dev/null'
    account = program.account
    with program.log.open("ab") as log:
        log_start = log.tell()
        try:
            process = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", gate, "sh", *program.argv],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=program.directory,
                env={**program.environment, processes.RUN_MARKER: run},
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        except OSError as error:
            raise StandaloneError(f"{program.name} could not be started: {error}.") from error
    running = Running(
        name=program.name,
        pid=process.pid,
        identity=processes.identity(process.pid) or "gone",
        run=run,
        layer=program.layer,
        stop=program.stop,
    )
    try:
        announce(running)
    except BaseException:
        _close_gate(process)
        raise
    _open_gate(process)
    return Started(program=program, process=process, running=running, log_start=log_start)


def _close_gate(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    process.wait()


def _open_gate(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(b"go\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A program that we started ourselves, and that we have to reap."""

    program: Program
    process: subprocess.Popen[bytes]
    running: Running
    log_start: int

    def exit_status(self) -> int | None:
        """Return how its first process ended (negative: the signal), ``None`` while it runs."""
        return self.process.poll()

    def last_lines(self) -> str:
        """Return the end of what it wrote in this life."""
        return last_lines(self.program.log, since=self.log_start)

    def stop(self) -> None:
        """Stop it with all its processes and wait until they are gone."""
        stop_all([self.running])
        self.process.wait()


def stop_all(everything: Iterable[Running], *, hurried: Callable[[], bool] = lambda: False) -> None:
    """Stop programs, the higher layers first and within a layer at once, and wait until all are gone.

    From the moment that ``hurried`` is true nobody is waited for much longer: each program gets its last
    step, or is killed if it had that already.
    """
    programs = list(everything)
    for layer in sorted({program.layer for program in programs}, reverse=True):
        stops = [_Stop(program) for program in programs if program.layer == layer]
        while stops:
            stops = [stop for stop in stops if not stop.advance(hurried=hurried())]
            time.sleep(POLL_SECONDS if stops else 0)


class _Stop:
    """The stop of one program, taken step by step."""

    def __init__(self, program: Running) -> None:
        self._program = program
        self._steps = list(program.stop)
        self._asked = False
        self._hurried = False
        self._deadline = 0.0

    def advance(self, *, hurried: bool) -> bool:
        """Take the step that is due; true once no process of the program is left."""
        if not self._program.is_alive():
            return self._kill_group()
        if hurried and not self._hurried:
            self._hurry()
        if time.monotonic() < self._deadline:
            return False
        if not self._steps:
            return self._kill_group()
        number, seconds = self._steps.pop(0)
        self._asked = True
        self._deadline = time.monotonic() + (min(seconds, _HURRIED_SECONDS) if hurried else seconds)
        send(self._program.pid, number)
        return False

    def _hurry(self) -> None:
        self._hurried = True
        if self._asked:
            self._deadline = 0.0
        else:
            del self._steps[:-1]

    def _kill_group(self) -> bool:
        remaining = self._program.remaining()
        for pid in remaining:
            send(pid, signal.SIGKILL)
        return not remaining


def send(pid: int, number: int) -> None:
    """Send a signal to one process; one that is gone by now is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def last_lines(log: Path, *, since: int = 0, count: int = 12) -> str:
    """Return the last lines of a log that stand behind an offset, for showing why its program ended."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - 16_384))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join([line for line in text.splitlines() if line.strip()][-count:])
