"""The demo from end to end, and what is left of it when it ends before its end: nothing."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from soat.standalone import processes
from soat.standalone.lock import sole_user
from soat.standalone.state import StateFolder
from tests.standalone.runs import Run, wait_until

Start = Callable[[], Run]
# An address in the shell, such as that of ``make run``, is not the demo's.
ENVIRONMENT = {"SOAT_STANDALONE": "true", "SOAT_BASE_URL": "http://127.0.0.1:9"}


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    """Start the demo on a state folder of this test."""
    runs: list[Run] = []

    def begin() -> Run:
        root = tmp_path / "demo state"
        command = [sys.executable, "manage.py", "demo", "--state-dir", str(root)]
        runs.append(Run(root, command=command, environment=ENVIRONMENT))
        return runs[-1]

    yield begin
    for run in runs:
        if run.process.poll() is None:
            run.stop()


def left_behind(state: StateFolder) -> list[str]:
    """Return the command lines of the living processes that have to do with a state folder."""
    if not sys.platform.startswith("linux"):
        found = processes.running_in(state.postgres, "postgres") + processes.running_in(state.broker, "valkey-server")
        return [str(pid) for pid in found]
    mark = os.fsencode(state.root)
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            traces = line + (folder / "environ").read_bytes() + os.fsencode((folder / "cwd").readlink())
        except OSError:
            continue
        if mark in traces and processes.identity(int(folder.name)) is not None:
            lines.append(line.replace(b"\0", b" ").decode())
    return lines


def test_the_demo_shows_what_it_promises(start: Start) -> None:
    demo = start()
    assert demo.process.wait(timeout=120) == 0, demo.output
    assert left_behind(demo.state) == []
    output = demo.output
    assert "\x1b" not in output
    assert "10 of 10 chunks embedded\n" in output
    assert "10 pages in 10 chunks" in output
    assert re.findall(r"^   \d\. (created|skipped) ", output, re.MULTILINE) == ["created"] * 4 + ["skipped", "created"]
    assert re.search(r"\[similar,\s+similarity\s+0\.9\d\d\s+to\s+fact\s+2:\s+mem_entry_\w+\]", output)
    assert re.search(r"\[fact_differs_date,\s+similarity\s+0\.9\d\d\s+to\s+fact\s+1:\s+mem_entry_\w+\]", output)
    best = re.findall(r"^   1\. 0\.\d{3}  (.+)$", output, re.MULTILINE)
    assert best[:2] == ["/handbook.pdf, page 3", "/handbook.pdf, page 5"]
    assert best[2].startswith('memory "Duty notes", mem_entry_')
    assert "All as expected" in output
    assert max(len(line) for line in output.splitlines() if str(demo.state.root) not in line) <= 110


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_demo_stops_everything(start: Start, number: int, status: int) -> None:
    demo = start().wait_for("database")
    assert demo.stop(number) == status
    assert left_behind(demo.state) == []
    assert "Traceback" not in demo.output


def test_a_killed_demo_leaves_nothing_and_the_next_waits_for_that(start: Start) -> None:
    demo = start().wait_for("setup")
    watchdog = json.loads((demo.state.run / "demo.json").read_text())["watchdog"][0]
    demo.kill()
    second = start().wait_for("database")
    assert processes.identity(watchdog) is None
    second.kill()
    wait_until(lambda: left_behind(demo.state) == [])


def test_two_demos_on_one_folder_do_not_disturb_each_other(start: Start, tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "demo state")
    state.make()
    with sole_user(state.run):
        demo = start()
        assert demo.process.wait(timeout=30) == 1
    assert f"A demo runs already on {state.root}" in demo.output
