"""``manage.py standalone`` itself, with the real web server, worker and beat."""

import http.client
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from soat.standalone.state import read_env_file
from tests.standalone.runs import PROJECT, Run, bare_environment, nothing_left


def command(state: Path, *arguments: str) -> list[str]:
    return [
        sys.executable,
        str(PROJECT / "manage.py"),
        "standalone",
        "--state-dir",
        str(state),
        *arguments,
    ]


def test_it_starts_serves_and_leaves_nothing(closed_folder: Path) -> None:
    run = Run(closed_folder / "state", command=command(closed_folder / "state", "--port", "0", "--workers", "1"))
    try:
        run.wait_ready(seconds=90)
        running = run.running()
        assert set(running) == {"database", "broker", "web", "worker", "beat"}
        address = urlsplit(run.settings["SOAT_BASE_URL"])
        connection = http.client.HTTPConnection(address.netloc, timeout=10)
        connection.request("GET", "/health/ready")
        response = connection.getresponse()
        assert response.status == 200, response.read()
        connection.close()
        assert run.state.credentials.stat().st_mode & 0o777 == 0o600
        assert read_env_file(run.state.credentials)["SOAT_BASE_URL"] == run.settings["SOAT_BASE_URL"]
    finally:
        status = run.stop()
    assert status == 0, run.output
    assert nothing_left(running, run.state)


def test_what_keeps_it_from_starting_is_one_sentence(closed_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        finished = subprocess.run(
            command(closed_folder / "state", "--port", port),
            env=bare_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert finished.returncode == 1
    assert finished.stderr.startswith(f"CommandError: The web server cannot listen on 127.0.0.1:{port}")
    assert finished.stderr.count("\n") == 1
