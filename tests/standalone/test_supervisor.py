"""Children that die, that never get ready, and that do not want to stop."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from soat.standalone.errors import StandaloneError
from soat.standalone.programs import Program, StopStep, spawn
from soat.standalone.roster import Roster
from soat.standalone.supervisor import Child, Interrupted, Patience, Supervisor
from tests.standalone.runs import wait_until

QUICK = Patience(failures=3, short_life=5.0, first_pause=0.01, longest_pause=0.02)
SLEEP = "import time; time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); {SLEEP}"


class Stage:
    """A supervisor, what it has said, and children to give it."""

    def __init__(self, roster: Roster, folder: Path) -> None:
        self.roster = roster
        self.said: list[str] = []
        self.on_report: Callable[[str], None] = lambda line: None
        self.supervisor = Supervisor(roster, self._report, QUICK)
        self._folder = folder

    def program(
        self, code: str, *, name: str = "dummy", layer: int = 0, stop: tuple[StopStep, ...] = ((15, 0.2),)
    ) -> Program:
        return Program(
            name=name,
            argv=[sys.executable, "-S", "-c", code],
            environment=dict(os.environ),
            directory=self._folder,
            log=self.log(name),
            layer=layer,
            stop=stop,
        )

    def child(self, program: Program, *, ready: str = "", ready_within: float = 10.0) -> Child:
        """Return a child that is ready once its log contains a text."""
        return Child(
            name=program.name,
            prepare=lambda: program,
            is_ready=lambda: ready in program.log.read_text(),
            ready_within=ready_within,
        )

    def log(self, name: str = "dummy") -> Path:
        return self._folder / f"{name}.log"

    def pids(self) -> list[int]:
        """Return the process ids that the dummy has written."""
        return [int(line.split()[1]) for line in self.log().read_text().splitlines()]

    def _report(self, name: str, what: str) -> None:
        self.said.append(f"{name} {what}")
        self.on_report(self.said[-1])


@pytest.fixture
def stage(roster: Roster, tmp_path: Path) -> Generator[Stage]:
    stage = Stage(roster, tmp_path)
    with stage.supervisor.signals():
        yield stage
        stage.supervisor.stop()
    stage.supervisor.close()


def test_a_child_that_dies_is_started_again(stage: Stage) -> None:
    code = f"import os; print('pid', os.getpid(), flush=True); {SLEEP}"
    stage.supervisor.start([stage.child(stage.program(code), ready="pid")])
    os.kill(stage.pids()[0], signal.SIGKILL)

    def end_when_back(line: str) -> None:
        if "ready" in line:
            wait_until(lambda: len(stage.pids()) == 2)
            stage.supervisor.request_stop()

    stage.on_report = end_when_back
    with pytest.raises(Interrupted):
        stage.supervisor.watch()
    assert "dummy ended (SIGKILL) and is started again" in stage.said


def test_a_child_that_keeps_dying_is_given_up_with_its_reason(stage: Stage) -> None:
    stage.supervisor.start([stage.child(stage.program(STUBBORN, name="other"), ready="up")])
    stage.log().write_text("an older complaint\n")
    code = "import sys; print('the disk is full'); sys.exit(3)"
    with pytest.raises(StandaloneError) as caught:
        stage.supervisor.start([stage.child(stage.program(code), ready="never")])
    assert str(caught.value) == (
        "dummy ended (exit status 3) and does not stay up, after 3 tries:\n"
        f"the disk is full\n(all of it: {stage.log()})"
    )
    assert sum("is started again" in line for line in stage.said) == 2


def test_a_child_that_never_gets_ready_is_given_up(stage: Stage) -> None:
    with pytest.raises(StandaloneError, match="dummy was not ready within 0 seconds and does not stay up"):
        stage.supervisor.start([stage.child(stage.program(SLEEP), ready="never", ready_within=0.1)])


def test_processes_below_a_dead_child_are_gone_before_the_next(stage: Stage) -> None:
    code = f"import os; below = os.fork(); print('below', below, flush=True) if below else None; {SLEEP}"
    started = stage.roster.spawn(stage.program(code))
    wait_until(lambda: stage.log().read_text() != "")
    os.kill(started.running.pid, signal.SIGKILL)
    wait_until(lambda: started.exit_status() is not None)
    assert started.running.remaining() == stage.pids(), "the one below lives on"
    started.stop()
    assert started.running.remaining() == []
    stage.roster.forget(started)


def test_a_step_that_fails_stops_the_start_with_its_reason(stage: Stage) -> None:
    stage.supervisor.run_once(stage.program("print('fine')", name="first"))
    with pytest.raises(StandaloneError, match=r"second failed \(exit status 1\):\n(.|\n)*ValueError: no such table"):
        stage.supervisor.run_once(stage.program("raise ValueError('no such table')", name="second"))
    assert stage.said[0].startswith("first done in")


def test_higher_layers_stop_first_and_the_stubborn_are_killed(stage: Stage) -> None:
    goodbye = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('stopped at', time.time(), flush=True)))\n"
        f"print('up', flush=True); {SLEEP}"
    )
    lower = stage.child(stage.program(goodbye, name="lower", layer=0), ready="up")
    upper = stage.child(stage.program(STUBBORN, name="upper", layer=1, stop=((15, 0.5),)), ready="up")
    stage.supervisor.start([lower, upper])
    begun = time.time()
    stage.supervisor.stop()
    assert float(stage.log("lower").read_text().split()[-1]) - begun >= 0.5


def test_asking_twice_hurries(stage: Stage) -> None:
    stage.supervisor.start([stage.child(stage.program(STUBBORN, stop=((15, 60.0),)), ready="up")])
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(Interrupted):
        stage.supervisor.watch()
    again = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    again.start()
    begun = time.monotonic()
    stage.supervisor.stop()
    again.join()
    assert 0.3 <= time.monotonic() - begun < 3


def test_a_program_that_was_not_announced_never_runs(stage: Stage, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = stage.program(f"open({str(mark)!r}, 'w')")

    def fail(_running: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spawn(program, run="run", announce=fail)
    time.sleep(0.3)
    assert not mark.exists()
