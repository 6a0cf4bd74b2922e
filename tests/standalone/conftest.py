"""Runs that are stopped whatever becomes of the test."""

import os
import stat
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from soat.standalone.roster import Roster
from tests.standalone.runs import Run


@pytest.fixture
def closed_folder(tmp_path: Path) -> Path:
    """A folder with an awkward name that nobody but us can enter, far too deep for a socket."""
    folder = tmp_path / """it's a "folder" $HOME""" / ("deep" * 20)
    folder.mkdir(parents=True)
    for each in (tmp_path, tmp_path.parent, folder.parent):
        assert each.stat().st_uid == os.geteuid()
        each.chmod(0o700)
        assert stat.S_IMODE(each.stat().st_mode) == 0o700
    return folder


@pytest.fixture
def start(closed_folder: Path) -> Generator[Callable[..., Run]]:
    """Start the small stack on a state folder of this test."""
    runs: list[Run] = []

    def begin(*arguments: str, environment: dict[str, str] | None = None) -> Run:
        runs.append(Run(closed_folder / "state", *arguments, environment=environment))
        return runs[-1]

    yield begin
    for run in runs:
        if run.process.poll() is None:
            run.stop()


@pytest.fixture
def roster() -> Generator[Roster]:
    """A roster whose programs are stopped at the end of the test."""
    roster = Roster()
    yield roster
    roster.close()
