"""Keep a set of programs running: start, watch, restart, stop."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from types import FrameType

from soat.standalone.errors import StandaloneError
from soat.standalone.programs import Program, Started, stop_all
from soat.standalone.roster import Roster

Report = Callable[[str, str], None]
"""Hears the name of a program and what became of it."""

_IDLE_SECONDS = 5.0
_FIRST_LOOK, _LONGEST_LOOK = 0.02, 0.5


class Interrupted(Exception):
    """We were asked to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """When a program that ends by itself is started again, and when no more.

    A life shorter than ``short_life`` seconds from being ready is a failure, as is one that never got
    ready; after ``failures`` of them in a row the program is given up. The pause before a restart
    doubles with each, from ``first_pause`` to ``longest_pause`` seconds.
    """

    failures: int = 5
    short_life: float = 10.0
    first_pause: float = 0.2
    longest_pause: float = 5.0

    def pause(self, failures: int) -> float:
        """Return the seconds to wait before the next start after so many failures in a row."""
        return float(min(self.first_pause * 2 ** max(failures - 1, 0), self.longest_pause))


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A program to keep running.

    ``prepare`` clears what an earlier life left behind and returns what to run; ``is_ready`` looks at
    what the program does, never at its process; ``ready_within`` is in seconds.
    """

    name: str
    prepare: Callable[[], Program]
    is_ready: Callable[[], bool]
    ready_within: float = 60.0


class _Life:
    """One child and how it fares."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.started: Started | None = None
        self.started_at = 0.0
        self.ready_at: float | None = None
        self.failures = 0
        self.restart_at = 0.0
        self.look_at = 0.0
        self.look_pause = _FIRST_LOOK

    def begin(self, started: Started) -> None:
        """Note a start."""
        self.started = started
        self.started_at = time.monotonic()
        self.ready_at = None
        self.look_at = 0.0
        self.look_pause = _FIRST_LOOK

    def next_look(self) -> float:
        """Return when this child needs attention though nothing happens to it."""
        if self.started is None:
            return self.restart_at
        return self.look_at if self.ready_at is None else time.monotonic() + _IDLE_SECONDS


class Supervisor:
    """Run children until somebody asks to stop or one of them cannot be kept alive.

    Not for threads: everything happens in ``run_once``, ``start`` and ``watch``, which raise
    ``Interrupted`` after ``request_stop`` and ``StandaloneError`` when a child is given up.
    """

    def __init__(self, roster: Roster, report: Report, patience: Patience | None = None) -> None:
        self._roster = roster
        self._report = report
        self._patience = patience or Patience()
        self._lives: list[_Life] = []
        self._asked = 0
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_read, False)
        os.set_blocking(self._wakeup_write, False)

    def request_stop(self) -> None:
        """Ask for the end; asking a second time hurries it. May be called from a signal handler."""
        self._asked += 1
        self._wake()

    @contextlib.contextmanager
    def signals(self) -> Generator[None]:
        """Let SIGINT, SIGTERM and SIGHUP ask for the end, and the death of a child wake us."""

        def ask(_number: int, _frame: FrameType | None) -> None:
            self.request_stop()

        def wake(_number: int, _frame: FrameType | None) -> None:
            self._wake()

        handlers = {signal.SIGINT: ask, signal.SIGTERM: ask, signal.SIGHUP: ask, signal.SIGCHLD: wake}
        if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup
            del handlers[signal.SIGHUP]
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run_once(self, program: Program) -> None:
        """Run a program to its end; one that fails is a ``StandaloneError`` with the end of its log."""
        begun = time.monotonic()
        started = self._roster.spawn(program)
        try:
            while (status := started.exit_status()) is None:
                self._look_after()
                self._sleep(time.monotonic() + _IDLE_SECONDS)
        finally:
            started.stop()
            self._roster.forget(started)
        if status != 0:
            raise StandaloneError(f"{program.name} failed ({_ending(status)}):\n{_excerpt(started)}")
        self._report(program.name, f"done in {time.monotonic() - begun:.2f} s")

    def start(self, children: Sequence[Child]) -> None:
        """Start children at once and wait until each is ready; they are watched from then on."""
        lives = [_Life(child) for child in children]
        for life in lives:
            self._lives.append(life)
            self._launch(life)
        self._look_after()
        while not all(life.ready_at for life in lives):
            self._sleep(min(life.next_look() for life in self._lives))
            self._look_after()

    def watch(self) -> None:
        """Keep the children running; never returns."""
        while True:
            self._look_after()
            self._sleep(min((life.next_look() for life in self._lives), default=time.monotonic() + _IDLE_SECONDS))

    def stop(self) -> None:
        """Stop all children, those of the higher layers first."""
        started = [life.started for life in self._lives if life.started is not None]
        stop_all((one.running for one in started), hurried=lambda: self._asked > 1)
        for one in started:
            one.process.wait()
            self._roster.forget(one)
        self._lives.clear()

    def close(self) -> None:
        """Give back what the supervisor itself holds."""
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)

    def _look_after(self) -> None:
        if self._asked:
            raise Interrupted
        self._roster.ensure_watchdog()
        for life in self._lives:
            if life.started is None:
                if time.monotonic() >= life.restart_at:
                    self._launch(life)
            elif (status := life.started.exit_status()) is not None:
                self._bury(life, life.started, f"ended ({_ending(status)})")
            elif life.ready_at is None and time.monotonic() >= life.look_at:
                self._look_whether_ready(life, life.started)

    def _launch(self, life: _Life) -> None:
        life.begin(self._roster.spawn(life.child.prepare()))

    def _look_whether_ready(self, life: _Life, started: Started) -> None:
        now = time.monotonic()
        if life.child.is_ready():
            life.ready_at = now
            self._report(life.child.name, f"ready after {now - life.started_at:.2f} s")
        elif now - life.started_at > life.child.ready_within:
            self._bury(life, started, f"was not ready within {life.child.ready_within:.0f} seconds")
        else:
            life.look_at = now + life.look_pause
            life.look_pause = min(life.look_pause * 1.5, _LONGEST_LOOK)

    def _bury(self, life: _Life, started: Started, what: str) -> None:
        """Clear a child away with what is left of its group, and decide whether it may try again."""
        lived = time.monotonic() - life.ready_at if life.ready_at is not None else 0.0
        started.stop()
        self._roster.forget(started)
        life.started = None
        life.failures = 1 if lived >= self._patience.short_life else life.failures + 1
        if life.failures >= self._patience.failures:
            raise StandaloneError(
                f"{life.child.name} {what} and does not stay up, after {life.failures} tries:\n{_excerpt(started)}"
            )
        pause = self._patience.pause(life.failures)
        life.restart_at = time.monotonic() + pause
        self._report(life.child.name, f"{what} and is started again")

    def _sleep(self, until: float) -> None:
        """Sleep until a time, a signal or the death of a child."""
        seconds = max(0.0, min(until - time.monotonic(), _IDLE_SECONDS))
        select.select([self._wakeup_read], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._wakeup_read, 4096)

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._wakeup_write, b"!")


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def _excerpt(started: Started) -> str:
    return f"{started.last_lines() or '(it wrote nothing)'}\n(all of it: {started.program.log})"
