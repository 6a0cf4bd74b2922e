"""The small files of the state folder."""

import os
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from soat.standalone import processes
from soat.standalone.console import Console
from soat.standalone.errors import StandaloneError
from soat.standalone.lock import sole_user
from soat.standalone.programs import Running
from soat.standalone.roster import Roster, stop_leftovers
from soat.standalone.state import StateFolder, keep_secrets, read_env_file, write_env_file


def test_keys_are_made_once(tmp_path: Path) -> None:
    path = tmp_path / "secrets.env"
    made = keep_secrets(path)
    assert keep_secrets(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(made["SECRET_KEY"]) >= 50
    Fernet(made["FIELD_ENCRYPTION_KEYS"])
    write_env_file(path, {"SECRET_KEY": made["SECRET_KEY"]})
    assert keep_secrets(path)["SECRET_KEY"] == made["SECRET_KEY"], "a lost key is made anew, the others stay"


def test_any_value_comes_back(tmp_path: Path) -> None:
    values = {"PLAIN": "x", "ODD": """a 'b' "c" $HOME `id` \\ # = é""", "EMPTY": "", "LINES": "a\nb"}
    write_env_file(tmp_path / "file.env", values)
    assert read_env_file(tmp_path / "file.env") == values


def test_a_large_log_is_set_aside(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    state.make()
    with state.log("web").open("wb") as log:
        log.truncate(21 * 1024**2)
    state.make()
    assert not state.log("web").exists()
    assert state.log("web").with_suffix(".log.1").exists()


def test_a_state_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StandaloneError, match="cannot be used"):
        StateFolder(tmp_path / "file" / "state").make()


def test_the_lock_is_given_back(tmp_path: Path) -> None:
    for _ in range(2):
        with sole_user(tmp_path), pytest.raises(StandaloneError, match="already runs"), sole_user(tmp_path):
            pass


@pytest.mark.parametrize("content", ["", "{", "[]", '{"running": [{}], "watchdog": [1, "x"]}', '{"running": []}'])
def test_a_torn_ledger_is_no_obstacle(tmp_path: Path, content: str) -> None:
    ledger = tmp_path / "processes.json"
    ledger.write_text(content)
    stop_leftovers(ledger, notice=pytest.fail)


def test_a_process_id_that_was_given_to_somebody_else_is_left_alone() -> None:
    mine = processes.identity(os.getpid())
    assert mine is not None
    running = Running(name="web", pid=os.getpid(), identity=f"{mine}0", run="gone", layer=0, stop=((9, 1.0),))
    assert not running.is_alive()
    assert running.remaining() == []


def test_a_zombie_is_not_alive() -> None:
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 0"], {})
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert processes.identity(pid) is None
    os.waitpid(pid, 0)


def test_a_folder_is_removed_by_the_watchdog(tmp_path: Path) -> None:
    roster = Roster()
    (tmp_path / "gone").mkdir()
    roster.remove_at_end(tmp_path / "gone")
    roster.close()
    assert not (tmp_path / "gone").exists()


def test_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        console = Console(stream)
        console.note("nobody reads this")
        console.report("web", "nor this")
