"""The curl lines of the README, run as they stand against a real server."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.standalone.runs import Run, bare_environment

PROJECT = Path(__file__).resolve().parents[2]


def tour() -> str:
    """Return the block of shell lines below the heading of the tour."""
    text = (PROJECT / "README.md").read_text()
    found = re.search(r"^### A tour with curl\n.*?^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def clone(tmp_path: Path) -> Generator[Path]:
    """A folder as a clone is while ``make run`` runs in it: docs/, and var/ with a server behind it."""
    (tmp_path / "docs").symlink_to(PROJECT / "docs")
    state = tmp_path / "var"
    run = Run(state, command=[sys.executable, "manage.py", "standalone", "--state-dir", str(state), "--port", "0"])
    try:
        run.wait_ready()
        yield tmp_path
    finally:
        run.stop()


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_tour_works_as_pasted(clone: Path) -> None:
    assert tour().count("\n") == 10
    finished = subprocess.run(
        ["/bin/sh", "-e"],
        input=tour(),
        cwd=clone,
        env={**bare_environment(), "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stderr == ""
    ready, document, *facts, found = [json.loads(line) for line in finished.stdout.splitlines()]
    assert ready["status"] == "ok"
    assert (document["status"], document["chunk_count"]) == ("ready", 10)
    assert [(fact["action"], fact["reason"]) for fact in facts] == [
        ("created", "no_candidate"),
        ("skipped", "similar"),
        ("created", "fact_differs_date"),
    ]
    first, second, third = found["results"]
    assert (first["source_type"], first["page"]) == ("document", 5)
    assert first["score"] > second["score"] > third["score"]
