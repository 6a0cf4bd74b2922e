"""The broker, run from the program that a Python package brings."""

import os
import signal
import socket
import time
from pathlib import Path

from soat.standalone import processes
from soat.standalone.binaries import broker_program
from soat.standalone.errors import StandaloneError
from soat.standalone.programs import POLL_SECONDS, Program, Started, send
from soat.standalone.roster import Roster
from soat.standalone.sockets import make_socket_folder, remove_socket_folder, socket_folder

START_SECONDS = 120.0

_STOP = ((int(signal.SIGTERM), 30.0),)
_PROGRAM = "valkey-server"


class EmbeddedBroker:
    """A broker that belongs to one data folder and is reached through a socket only.

    What is queued is written to disk, so it survives restarts, kills and crashes.
    """

    def __init__(self, data_dir: Path, log_file: Path, *, durable: bool = True) -> None:
        self._data_dir = data_dir.absolute()
        self._log_file = log_file.absolute()
        self._durable = durable
        self._program = broker_program()
        self._socket = socket_folder(self._data_dir) / "broker.sock"
        self._started: Started | None = None

    @property
    def url(self) -> str:
        """The address in the form that Celery reads."""
        return f"redis+socket://{self._socket}"

    def start(self, roster: Roster) -> None:
        """Start the broker and wait until it answers."""
        started = roster.spawn(self.prepare())
        self._started = started
        deadline = time.monotonic() + START_SECONDS
        while not self.is_healthy():
            if started.exit_status() is not None or time.monotonic() > deadline:
                self.stop(roster)
                raise StandaloneError(f"The broker did not start:\n{started.last_lines()}")
            time.sleep(POLL_SECONDS)

    def stop(self, roster: Roster) -> None:
        """Stop a broker that ``start`` started."""
        if self._started is not None:
            self._started.stop()
            roster.forget(self._started)
            self._started = None
        self.clean_up()

    def clean_up(self) -> None:
        """Remove what a stopped broker needs no more."""
        remove_socket_folder(self._data_dir)

    def is_healthy(self) -> bool:
        """Tell whether the broker answers PING; while it still loads its data it says something else."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(2)
                connection.connect(str(self._socket))
                connection.sendall(b"*1\r\n$4\r\nPING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def prepare(self) -> Program:
        """Make the folders, clear what a killed broker left, return what to run."""
        self._data_dir.mkdir(parents=True, mode=0o700, exist_ok=True)
        self._stop_leftovers()
        remove_socket_folder(self._data_dir)
        make_socket_folder(self._data_dir)
        settings = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": ".",
            "appendonly": "yes" if self._durable else "no",
            "appendfsync": "everysec",
            "save": "",
            "daemonize": "no",
            "maxmemory-policy": "noeviction",
        }
        return Program(
            name="broker",
            argv=[str(self._program), *(part for name, value in settings.items() for part in (f"--{name}", value))],
            environment={name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ},
            directory=self._data_dir,
            log=self._log_file,
            stop=_STOP,
            scratch=self._socket.parent,
        )

    def _stop_leftovers(self) -> None:
        """End a broker of an earlier run: it takes no lock, and two would ruin each other's file."""
        for number, seconds in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)):
            deadline = time.monotonic() + seconds
            for pid in processes.running_in(self._data_dir, _PROGRAM):
                send(pid, number)
            while processes.running_in(self._data_dir, _PROGRAM) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
        if processes.running_in(self._data_dir, _PROGRAM):
            raise StandaloneError(f"A broker of an earlier run still works in {self._data_dir} and cannot be stopped.")
