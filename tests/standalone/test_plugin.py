"""The pytest plugin that gives the tests their servers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.standalone.runs import PROJECT, bare_environment, wait_until

SLEEPS = """
import os, pathlib, time, psycopg
def test_sleeps():
    with psycopg.connect(os.environ["DATABASE_URL"], dbname="postgres") as connection:
        row = connection.execute("SHOW unix_socket_directories").fetchone()
    pathlib.Path("found").write_text(str(pathlib.Path(os.environ["FILES_STORAGE_DIR"]).parent) + "\\n" + row[0] + "\\n")
    time.sleep({seconds})
"""


@pytest.mark.parametrize("killed", [False, True])
def test_nothing_outlives_the_tests(tmp_path: Path, killed: bool) -> None:
    (tmp_path / "test_it.py").write_text(SLEEPS.format(seconds=60 if killed else 0))
    options = ["-c", "/dev/null", "-p", "tests.stack", "-p", "no:django", "-p", "no:cacheprovider", "-q"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=tmp_path,
        env={**bare_environment(), "PYTHONPATH": os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])},
        stdout=subprocess.DEVNULL,
    )
    found = tmp_path / "found"
    wait_until(lambda: found.exists() and found.read_text().count("\n") == 2)
    folders = [Path(line) for line in found.read_text().splitlines()]
    if killed:
        process.kill()
    status = process.wait(timeout=30)
    assert status == (-9 if killed else 0)
    wait_until(lambda: not any(folder.exists() for folder in folders))
