"""What the operating system knows of processes: alive or not, since when, where, in which group.

A process id says little: the system gives it to somebody else once its process is gone, and keeps
it for a zombie. So a process is always known by its id *and* its start time.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

RUN_MARKER = "SOAT_STANDALONE_RUN"
"""The environment variable by which a process is known as one of ours once its parent is gone."""

_LINUX = sys.platform.startswith("linux")
_PROC = Path("/proc")


def identity(pid: int) -> str | None:
    """Return what tells this process from a later one with the same id; ``None`` if it is gone or a zombie."""
    if _LINUX:
        fields = _stat(pid)
        # The start time counts from the boot of the machine, so it needs the boot beside it.
        return None if fields is None or fields[0] in "ZX" else f"{_boot()}:{fields[19]}"
    state, _, started = _ps("-o", "state=,lstart=", "-p", str(pid)).strip().partition(" ")
    return None if not started or state.startswith("Z") else " ".join(started.split())


def group_members(group: int) -> list[int]:
    """Return the living processes of a process group."""
    if _LINUX:
        stats = ((pid, _stat(pid)) for pid in _pids())
        return [pid for pid, fields in stats if fields and int(fields[2]) == group and fields[0] not in "ZX"]
    rows = (line.split() for line in _ps("-axo", "pid=,pgid=,state=").splitlines())
    return [int(pid) for pid, pgid, state in rows if int(pgid) == group and not state.startswith("Z")]


def belongs_to_run(pid: int, run: str) -> bool:
    """Tell whether a process was started, directly or not, by the run with this id."""
    marker = f"{RUN_MARKER}={run}"
    if not _LINUX:
        return marker in _ps("-Eww", "-o", "command=", "-p", str(pid)).split()
    try:
        return marker.encode() in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def running_in(directory: Path, *executables: str) -> list[int]:
    """Return the living processes of these programs whose working directory is this folder.

    PostgreSQL and the broker both work inside their data folder, so this finds whoever still has
    it open, whatever a pid file says and however the folder was named or moved.
    """
    try:
        wanted = directory.stat()
    except OSError:
        return []
    if not _LINUX:
        return _running_in_by_lsof(directory.resolve(), executables)
    found = []
    for pid in _pids():
        try:
            if os.path.samestat((_PROC / str(pid) / "cwd").stat(), wanted) and _program(pid) in executables:
                found.append(pid)
        except OSError:
            continue
    return [pid for pid in found if identity(pid) is not None]


def _pids() -> list[int]:
    return sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the third (the state) on."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _program(pid: int) -> str:
    return Path((_PROC / str(pid) / "exe").readlink()).name.removesuffix(" (deleted)")


@cache
def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "boot"


def _running_in_by_lsof(directory: Path, executables: Sequence[str]) -> list[int]:
    chosen = [part for name in executables for part in ("-c", name)]
    listing = _output(["/usr/sbin/lsof", "-w", "-a", *chosen, "-d", "cwd", "-Fpn"])
    found, pid = [], 0
    for line in listing.splitlines():
        if line.startswith("p"):
            pid = int(line[1:])
        elif line.startswith("n") and Path(line[1:]) == directory:
            found.append(pid)
    return found


def _ps(*arguments: str) -> str:
    return _output(["/bin/ps", *arguments])


def _output(command: list[str]) -> str:
    environment = {"LC_ALL": "C", "TZ": "UTC"}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    return finished.stdout
