"""Start the small stack in a process of its own and look at it from outside."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from soat.standalone import processes
from soat.standalone.programs import Running
from soat.standalone.state import StateFolder, read_env_file

PROJECT = Path(__file__).resolve().parents[2]
_OURS = (
    *("DATABASE_URL", "CELERY_BROKER_URL", "SECRET_KEY", "FIELD_ENCRYPTION_KEYS"),
    *("SOAT_", "EMBEDDING_", "FILES_", "PYTEST_"),
)


def bare_environment() -> dict[str, str]:
    """Return the environment without what the stack looks at."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something to become true, or fail."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Run:
    """One run of the small stack, or of another ``command`` that runs a stack on the state folder."""

    def __init__(
        self,
        root: Path,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        root.parent.mkdir(parents=True, exist_ok=True)
        self.state = StateFolder(root)
        self._output = root.parent / f"output-{time.monotonic_ns()}.txt"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                command or [sys.executable, "-m", "tests.standalone.small_stack", str(root), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=PROJECT,
                env={**bare_environment(), **(environment or {})},
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text()

    def wait_for(self, text: str, seconds: float = 30.0) -> "Run":
        """Wait until it has printed a text."""

        def printed() -> bool:
            assert self.process.poll() is None or text in self.output, self.output
            return text in self.output

        wait_until(printed, seconds)
        return self

    def wait_ready(self, seconds: float = 30.0) -> "Run":
        """Wait until everything is up."""
        return self.wait_for("SOAT is ready at", seconds)

    @property
    def settings(self) -> dict[str, str]:
        """What it tells management commands."""
        return read_env_file(self.state.server)

    def running(self) -> dict[str, Running]:
        """Return what it has started, by name."""
        entries = json.loads(self.state.ledger.read_text())["running"]
        return {values["name"]: Running.from_json(values) for values in entries}

    def watchdog(self) -> int:
        """Return the process id of its watchdog."""
        return int(json.loads(self.state.ledger.read_text())["watchdog"][0])

    def kill(self) -> None:
        """Kill the supervisor so that it can clean up nothing."""
        self.process.kill()
        self.process.wait()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=30)


def nothing_left(running: Mapping[str, Running], state: StateFolder) -> bool:
    """Tell whether no process of a run lives any more."""
    working = processes.running_in(state.postgres, "postgres") + processes.running_in(state.broker, "valkey-server")
    return not working and not any(program.remaining() for program in running.values())
