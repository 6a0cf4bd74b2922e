"""The embedded broker by itself."""

import os
import signal
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
import redis

from soat.standalone import processes
from soat.standalone.broker import EmbeddedBroker
from soat.standalone.errors import StandaloneError
from soat.standalone.roster import Roster


@pytest.fixture
def make(closed_folder: Path, roster: Roster) -> Generator[Callable[[], EmbeddedBroker]]:
    """Make brokers on one data folder, which are stopped in the end."""
    made: list[EmbeddedBroker] = []

    def begin() -> EmbeddedBroker:
        made.append(EmbeddedBroker(closed_folder / "broker", closed_folder / "log"))
        made[-1].start(roster)
        return made[-1]

    yield begin
    for each in reversed(made):
        each.stop(roster)


def connect(broker: EmbeddedBroker) -> "redis.Redis":
    return redis.Redis(unix_socket_path=broker.url.removeprefix("redis+socket://"))


def test_what_is_queued_survives_a_kill(make: Callable[[], EmbeddedBroker], closed_folder: Path) -> None:
    with connect(make()) as client:
        client.lpush("queue", "work")
    for pid in processes.running_in(closed_folder / "broker", "valkey-server"):
        os.kill(pid, signal.SIGKILL)
    with connect(make()) as client:
        assert client.lrange("queue", 0, -1) == [b"work"]


def test_a_broker_that_still_runs_is_stopped_first(make: Callable[[], EmbeddedBroker], closed_folder: Path) -> None:
    with connect(make()) as client:
        client.lpush("queue", "work")
    before = processes.running_in(closed_folder / "broker", "valkey-server")
    with connect(make()) as client:
        assert client.lrange("queue", 0, -1) == [b"work"]
    after = processes.running_in(closed_folder / "broker", "valkey-server")
    assert len(before) == len(after) == 1
    assert before != after


def test_only_its_user_reaches_it(make: Callable[[], EmbeddedBroker]) -> None:
    path = Path(make().url.removeprefix("redis+socket://"))
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o700
    assert len(os.fsencode(path)) <= 103


def test_a_start_that_fails_says_why(tmp_path: Path, roster: Roster) -> None:
    broker = EmbeddedBroker(tmp_path / "broker", tmp_path / "log")
    (tmp_path / "broker" / "appendonlydir").mkdir(parents=True)
    (tmp_path / "broker" / "appendonlydir" / "appendonly.aof.manifest").write_text("nonsense\n")
    with pytest.raises(StandaloneError, match=r"The broker did not start:\n(.|\n)*AOF manifest"):
        broker.start(roster)
