"""The stack as a whole, with real servers: what lasts, what is restarted, what stays behind (nothing)."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg

from soat.standalone import processes
from soat.standalone.console import Console
from soat.standalone.stack import Options, Stack
from soat.standalone.state import StateFolder
from soat.standalone.supervisor import Child
from tests.standalone.runs import Run, bare_environment, nothing_left, wait_until

Start = Callable[..., Run]


def write(run: Run, text: str) -> None:
    with psycopg.connect(run.settings["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS notes (text text)")
        connection.execute("INSERT INTO notes VALUES (%s)", [text])


def read(run: Run) -> list[str]:
    with psycopg.connect(run.settings["DATABASE_URL"]) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM notes ORDER BY text")]


def test_a_restart_keeps_data_and_keys(start: Start) -> None:
    first = start().wait_ready()
    write(first, "kept")
    running, settings = first.running(), first.settings
    assert set(running) == {"database", "broker", "dummy"}
    assert first.stop(signal.SIGINT) == 0
    assert nothing_left(running, first.state)
    assert not first.state.server.exists()
    assert first.output.endswith("stopped\n")

    second = start().wait_ready()
    assert read(second) == ["kept"]
    assert second.settings["SECRET_KEY"] == settings["SECRET_KEY"]
    assert second.settings["FIELD_ENCRYPTION_KEYS"] == settings["FIELD_ENCRYPTION_KEYS"]
    assert second.stop(signal.SIGTERM) == 0


def test_a_shell_reads_the_settings(start: Start) -> None:
    run = start().wait_ready()
    finished = subprocess.run(
        ["/bin/sh", "-c", 'set -a; . "$1"; env', "sh", str(run.state.server)],
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"FILES_STORAGE_DIR={run.state.files}\n" in finished.stdout
    assert f"DATABASE_URL={run.settings['DATABASE_URL']}\n" in finished.stdout
    for path in (run.state.server, run.state.secrets):
        assert path.stat().st_mode & 0o777 == 0o600
    assert run.state.root.stat().st_mode & 0o777 == 0o700


def test_a_second_start_is_refused(start: Start) -> None:
    first = start().wait_ready()
    second = start()
    assert second.process.wait(timeout=30) == 1
    assert f"already runs on {first.state.root} (process {first.process.pid})" in second.output
    assert second.output.count("\n") == 1
    write(first, "undisturbed")
    assert read(first) == ["undisturbed"]


def test_nothing_outlives_a_killed_supervisor(start: Start) -> None:
    first = start().wait_ready()
    write(first, "kept")
    running = first.running()
    first.kill()
    wait_until(lambda: nothing_left(running, first.state))

    second = start().wait_ready()
    assert read(second) == ["kept"]


def test_a_start_stops_what_a_killed_watchdog_left(start: Start) -> None:
    first = start().wait_ready()
    write(first, "kept")
    running = first.running()
    os.kill(first.watchdog(), signal.SIGSTOP)
    first.kill()
    os.kill(int((first.state.root / "run" / "dummy.pid").read_text()), signal.SIGKILL)
    assert running["database"].is_alive()
    assert running["dummy"].remaining(), "the process below the dummy has lost its parent and lives on"
    os.kill(first.watchdog(), signal.SIGKILL)

    second = start().wait_ready()
    assert "stopping what the last run left behind: database, broker, dummy" in second.output
    assert not any(program.remaining() for program in running.values())
    assert read(second) == ["kept"]


class BeatOnly(Stack):
    """A stack of which only beat is looked at."""

    def beat(self) -> Child:
        """Return beat."""
        return self._beat([])


def test_beat_is_ready_when_it_has_made_a_schedule_of_its_own(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.make()
    options = Options(state=state, host="127.0.0.1", port=0, web_threads=1, workers=1, setup=())
    beat = BeatOnly(options, Console(sys.stdout)).beat()
    for name in ("celerybeat-schedule", "celerybeat-schedule.db", "celerybeat-schedule.dat"):
        beat.prepare()
        assert not beat.is_ready(), "what an earlier beat left does not count"
        # As ndbm has it: opened, and written to at the end only.
        (state.run / name).write_bytes(b"")
        os.utime(state.run / name, (0, 0))
        assert beat.is_ready()


def test_a_killed_database_comes_back(start: Start) -> None:
    run = start().wait_ready()
    write(run, "kept")
    os.kill(run.running()["database"].pid, signal.SIGKILL)
    run.wait_for("database     ended (SIGKILL) and is started again")
    wait_until(lambda: run.output.count("database     ready") == 2)
    assert read(run) == ["kept"]


def test_killed_children_come_back_and_leave_no_orphans(start: Start) -> None:
    run = start().wait_ready()
    dummy = run.running()["dummy"]
    assert len(dummy.remaining()) == 2
    os.kill(run.watchdog(), signal.SIGKILL)
    os.kill(dummy.pid, signal.SIGKILL)
    wait_until(lambda: run.output.count("dummy        ready") == 2)
    assert dummy.remaining() == []

    watchdog, running = run.watchdog(), run.running()
    assert processes.identity(watchdog) is not None, "a killed watchdog comes back too"
    run.kill()
    wait_until(lambda: nothing_left(running, run.state))


def test_servers_of_ones_own_replace_the_embedded(start: Start) -> None:
    own = {"DATABASE_URL": "postgres://me@db.example/soat", "CELERY_BROKER_URL": "redis://broker.example/1"}
    own |= {"EMBEDDING_PROVIDER": "ollama", "SOAT_BASE_URL": "https://soat.example"}
    run = start(environment=own).wait_ready()
    assert set(run.running()) == {"dummy"}
    assert not run.state.postgres.exists()
    assert run.settings.items() >= own.items()
    assert "EMBEDDING_MODEL" not in run.settings


def test_a_taken_port_is_told_before_anything_starts(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        run = start(str(port))
        assert run.process.wait(timeout=30) == 1
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use)" in run.output
    assert not run.state.postgres.exists()
