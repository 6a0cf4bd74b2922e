"""The list of what is running, kept where it outlives us."""

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from soat.standalone import processes
from soat.standalone.programs import POLL_SECONDS, Program, Running, Started, spawn, stop_all

_PROJECT = Path(__file__).resolve().parents[2]
_WATCHDOG_SECONDS = 60.0


class Roster:
    """Start programs that cannot outlive us.

    Each is known to a watchdog process before it starts, and to the ``ledger`` file (when there is
    one), from which the next run learns what was left behind if the watchdog was killed as well.
    """

    def __init__(self, ledger: Path | None = None) -> None:
        self.run = uuid.uuid4().hex
        self._ledger = ledger
        self._running: dict[int, Running] = {}
        self._folders: list[Path] = []
        self._watchdog: subprocess.Popen[bytes] | None = None
        self.ensure_watchdog()

    def spawn(self, program: Program) -> Started:
        """Start a program that is stopped when we end, however we end."""
        self.ensure_watchdog()
        if program.scratch is not None:
            self.remove_at_end(program.scratch)
        return spawn(program, run=self.run, announce=self._track)

    def forget(self, started: Started) -> None:
        """Take a program off the list, once it has been stopped or has ended with its whole group."""
        self._running.pop(started.running.pid, None)
        self._tell({"forget": started.running.pid})
        self._write_ledger()

    def remove_at_end(self, folder: Path) -> None:
        """Have a folder removed after the programs have been stopped, if we are killed before we do."""
        if folder not in self._folders:
            self._folders.append(folder)
            self._tell({"remove": str(folder)})

    def ensure_watchdog(self) -> None:
        """Start the watchdog, again if something killed it."""
        if self._watchdog is not None and self._watchdog.poll() is None:
            return
        if self._watchdog is not None:
            _close_pipe(self._watchdog)
        self._watchdog = subprocess.Popen(
            [sys.executable, "-S", "-m", "soat.standalone.watchdog"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=_PROJECT,
            env={"PATH": os.environ.get("PATH", os.defpath), processes.RUN_MARKER: self.run},
            start_new_session=True,
        )
        self._write_ledger()
        for running in self._running.values():
            self._tell({"track": running.to_json()})
        for folder in self._folders:
            self._tell({"remove": str(folder)})

    def close(self) -> None:
        """Let the watchdog end; it stops whatever is still on the list, and we wait for that."""
        if self._watchdog is not None:
            _close_pipe(self._watchdog)
            self._watchdog.wait()
        self._watchdog = None
        if self._ledger is not None:
            self._ledger.unlink(missing_ok=True)

    def _track(self, running: Running) -> None:
        self._running[running.pid] = running
        self._write_ledger()
        self._tell({"track": running.to_json()})

    def _tell(self, message: dict[str, Any]) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            # A watchdog that was killed is started again on the next occasion, with the whole list.
            with contextlib.suppress(BrokenPipeError, ValueError):
                self._watchdog.stdin.write(json.dumps(message).encode() + b"\n")
                self._watchdog.stdin.flush()

    def _write_ledger(self) -> None:
        if self._ledger is None:
            return
        watchdog = self._watchdog.pid if self._watchdog else 0
        entries = {
            "watchdog": [watchdog, processes.identity(watchdog)],
            "running": [running.to_json() for running in self._running.values()],
        }
        draft = self._ledger.with_suffix(".new")
        draft.write_text(json.dumps(entries, indent=1))
        draft.replace(self._ledger)


def stop_leftovers(ledger: Path, *, notice: Callable[[str], None]) -> None:
    """Stop what a run that was killed has left behind.

    Waits for that run's watchdog, which is at it already unless it was killed too. ``notice`` hears
    the names of what is waited for or stopped.
    """
    entries = _read(ledger)
    if entries is None:
        return
    watchdog, identity = entries["watchdog"]
    deadline = time.monotonic() + _WATCHDOG_SECONDS
    if identity and processes.identity(watchdog) == identity:
        notice("waiting for the last run to finish stopping")
        while processes.identity(watchdog) == identity and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
    running = [Running.from_json(values) for values in entries["running"]]
    left = [program for program in running if program.remaining()]
    if left:
        notice(f"stopping what the last run left behind: {', '.join(program.name for program in left)}")
        stop_all(left)
    ledger.unlink(missing_ok=True)


def _read(ledger: Path) -> dict[str, Any] | None:
    try:
        entries = json.loads(ledger.read_text())
        _ = [Running.from_json(values) for values in entries["running"]]
        _, _ = entries["watchdog"]
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none, or torn by a crash of the machine: then nothing of that run lives
    return entries  # type: ignore[no-any-return]


def _close_pipe(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
