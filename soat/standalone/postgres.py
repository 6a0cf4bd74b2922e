"""PostgreSQL with pgvector, run from the programs that a Python package brings."""

import contextlib
import locale
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from soat.standalone import processes
from soat.standalone.accounts import Account, database_account, may, run_as
from soat.standalone.binaries import postgres_programs, postgres_version
from soat.standalone.errors import StandaloneError
from soat.standalone.programs import POLL_SECONDS, Program, Started, last_lines, send
from soat.standalone.roster import Roster
from soat.standalone.sockets import make_socket_folder, outer_folder, remove_socket_folder, socket_folder

DATABASE_USER = "soat"
START_SECONDS = 600.0
"""How long a start may take: after a crash the log is replayed first, on a slow disk for minutes."""

# Fast shutdown, then immediate shutdown (the next start recovers); both lose nothing.
_STOP = ((int(signal.SIGINT), 60.0), (int(signal.SIGQUIT), 10.0))
_KILL = ((signal.SIGKILL, 10.0),)
_STOP_ORPHANS = ((signal.SIGTERM, 5.0), (signal.SIGQUIT, 5.0), *_KILL)
_PROGRAM = "postgres"
_HERE = "/proc/self/cwd"
_AMPLE_SHARED_MEMORY = 1024**3
_MIB = 1024**2

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    # Disks of today read anywhere as quickly as in a row, and what is searched is in memory mostly.
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "logging_collector": "off",
}
_FAST_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class EmbeddedPostgres:
    """A PostgreSQL server that belongs to one data folder and is reached through a socket only.

    As root the server runs as ``nobody``, and still keeps its data below a folder that ``nobody``
    cannot enter. ``durable=False`` trades the safety of the data for speed, for tests.
    """

    def __init__(self, data_dir: Path, log_file: Path, *, durable: bool = True) -> None:
        self._data_dir = data_dir.absolute()
        self._log_file = log_file.absolute()
        self._durable = durable
        self._account = database_account()
        self._programs = postgres_programs(self._account)
        self._sockets = socket_folder(self._data_dir, self._account)
        self._started: Started | None = None

    def url(self, database: str = DATABASE_USER) -> str:
        """Return the address of a database, in the form that libpq and django-environ both read."""
        host = urlencode({"host": str(self._sockets)}, safe="/")
        return f"postgres://{DATABASE_USER}@/{quote(database, safe='')}?{host}"

    def start(self, roster: Roster) -> None:
        """Start the server and wait until it answers."""
        started = roster.spawn(self.prepare())
        self._started = started
        deadline = time.monotonic() + START_SECONDS
        while not self.is_healthy():
            if started.exit_status() is not None or time.monotonic() > deadline:
                self.stop(roster)
                raise StandaloneError(f"PostgreSQL did not start:\n{started.last_lines()}")
            time.sleep(POLL_SECONDS)

    def stop(self, roster: Roster) -> None:
        """Stop a server that ``start`` started; connections are cut, what was committed stays."""
        if self._started is not None:
            self._started.stop()
            roster.forget(self._started)
            self._started = None
        self.clean_up()

    def clean_up(self) -> None:
        """Remove what a stopped server needs no more."""
        remove_socket_folder(self._data_dir, self._account)

    def is_healthy(self) -> bool:
        """Tell whether the server answers a query."""
        try:
            with self._connect() as connection:
                connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def create_database(self, name: str) -> None:
        """Create a database unless there is one of that name."""
        with self._connect() as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
            if found is None:
                with contextlib.suppress(psycopg.errors.DuplicateDatabase):
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def prepare(self) -> Program:
        """Make the data folder if there is none, clear what a killed server left, return what to run."""
        self._stop_leftovers(self._data_dir)
        if not (self._data_dir / "PG_VERSION").exists():
            self._initialise()
        self._check_data_dir()
        # A killed server leaves its socket's lock file, which is trusted like its pid file.
        remove_socket_folder(self._data_dir, self._account)
        make_socket_folder(self._data_dir, self._account)
        settings = _SETTINGS | memory_settings(_physical_memory()) | {"unix_socket_directories": str(self._sockets)}
        settings |= {} if self._durable else _FAST_SETTINGS
        if _shared_memory_is_scarce():
            # Parallel index builds need more than a container's /dev/shm of 64 MB.
            settings["dynamic_shared_memory_type"] = "sysv"
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return Program(
            name="database",
            argv=[str(self._programs / "postgres"), "-D", self._path_of(self._data_dir), *options],
            environment=_environment(),
            directory=self._data_dir,
            log=self._log_file,
            stop=_STOP,
            account=self._account,
            scratch=outer_folder(self._data_dir, self._account),
        )

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self._sockets), user=DATABASE_USER, dbname="postgres", connect_timeout=3, autocommit=True
        )

    def _path_of(self, folder: Path) -> str:
        """Return how the server names a folder that it was started in.

        As root on Linux, by its working directory: we enter it before we become the account, which
        may stay there although it could not come in by itself.
        """
        if self._account is None:
            return str(folder)
        if Path(_HERE).is_dir():
            return _HERE
        if not may(self._account, "-x", folder):
            raise StandaloneError(
                f"The user {self._account.name}, whom PostgreSQL runs as for root, cannot enter {folder}: "
                "run as an ordinary user, or give a state folder that everybody can enter (--state-dir)."
            )
        return str(folder)

    def _initialise(self) -> None:
        """Make a new data folder under another name, so that a half made one is never taken for whole."""
        if self._data_dir.exists() and any(self._data_dir.iterdir()):
            raise StandaloneError(f"{self._data_dir} is not a data folder of PostgreSQL, and not empty: move it away.")
        draft = self._data_dir.with_name(f"{self._data_dir.name}.new")
        self._stop_leftovers(draft)
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True, mode=0o700)
        if self._account is not None:
            os.chown(draft, self._account.uid, self._account.gid)
        command = [
            *(str(self._programs / "initdb"), "-D", self._path_of(draft), f"--username={DATABASE_USER}"),
            *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *("--locale=C", f"--lc-ctype={_character_locale()}"),
            # The folder of the socket is what keeps others out.
            *("--auth-local=trust", "--auth-host=reject", "--no-instructions"),
            *(() if self._durable else ("--no-sync",)),
        ]
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        with self._log_file.open("ab") as log:
            status = run_as(self._account, command, directory=draft, environment=_environment(), output=log)
        if status != 0:
            raise StandaloneError(f"PostgreSQL could not make its data folder:\n{last_lines(self._log_file)}")
        draft.replace(self._data_dir)

    def _check_data_dir(self) -> None:
        made_by = (self._data_dir / "PG_VERSION").read_text().strip()
        version = postgres_version(self._programs)
        if made_by != version:
            raise StandaloneError(
                f"{self._data_dir} was made by PostgreSQL {made_by} and this is version {version}: "
                "dump it with the old version and restore it with the new one."
            )
        owner, wanted = self._data_dir.stat().st_uid, self._account.uid if self._account else os.geteuid()
        if owner == 0 and self._account is not None:
            _give_to(self._data_dir, self._account)  # copied or restored by root
        elif owner != wanted:
            raise StandaloneError(
                f"{self._data_dir} belongs to user id {owner}, and PostgreSQL would run here as {wanted}: "
                "run as the user who made it, or give another state folder (--state-dir)."
            )

    def _stop_leftovers(self, folder: Path) -> None:
        """End what still works in a data folder, and remove the pid file that nobody stands behind.

        PostgreSQL trusts a pid file when any process of its user has that id by now, or when a
        zombie has; and it does not start beside a session that outlived a killed server.
        """
        lock = folder / "postmaster.pid"
        _end(processes.running_in(folder, "initdb"), _KILL, folder)
        working = processes.running_in(folder, _PROGRAM)
        with contextlib.suppress(OSError, ValueError, IndexError):
            server = int(lock.read_text().split("\n")[0])
            if server in working:
                _end([server], _STOP, folder)
        _end(working, _STOP_ORPHANS, folder)
        if processes.running_in(folder, _PROGRAM):
            raise StandaloneError(f"An earlier run's PostgreSQL still works in {folder} and cannot be stopped.")
        lock.unlink(missing_ok=True)


def _end(pids: list[int], steps: tuple[tuple[int, float], ...], folder: Path) -> None:
    for number, seconds in steps:
        deadline = time.monotonic() + seconds
        left = set(pids) & set(processes.running_in(folder, _PROGRAM, "initdb"))
        for pid in left:
            send(pid, number)
        while left and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            left &= set(processes.running_in(folder, _PROGRAM, "initdb"))


def _environment() -> dict[str, str]:
    """Return a bare environment: no PGDATA that misleads, and no secret for the account to read."""
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C"}


def _character_locale() -> str:
    """Return a locale of the system that knows the letters of Unicode.

    Collation is PostgreSQL's own, but its text search and trigram parsers ask the system what a letter
    is; under ``C`` a quotation mark is part of the word beside it and no accented letter has trigrams.
    """
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        for name in ("C.UTF-8", "en_US.UTF-8"):
            with contextlib.suppress(locale.Error):
                locale.setlocale(locale.LC_CTYPE, name)
                return name
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
    return "C"


def memory_settings(physical: int) -> dict[str, str]:
    """Return what the server may take of so many bytes; it touches them only as its data grows.

    Searches are quick while vectors and their index are among the buffers, and an index of 100,000 vectors is built
    in about 150 MB, or several times as slowly.
    """
    shares = {"shared_buffers": (physical // 16, 1_024), "maintenance_work_mem": (physical // 32, 512)}
    return {name: f"{min(max(share // _MIB, 128), most)}MB" for name, (share, most) in shares.items()}


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _shared_memory_is_scarce() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        memory = os.statvfs("/dev/shm")  # noqa: S108
    except OSError:
        return True
    return memory.f_bavail * memory.f_frsize < _AMPLE_SHARED_MEMORY


def _give_to(folder: Path, account: Account) -> None:
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            os.chown(Path(parent) / name, account.uid, account.gid, follow_symlinks=False)
    os.chown(folder, account.uid, account.gid)
