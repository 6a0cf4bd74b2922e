"""One supervisor for each state folder."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from soat.standalone.errors import StandaloneError


@contextmanager
def sole_user(state_dir: Path) -> Generator[None]:
    """Hold the state folder; a ``StandaloneError`` says who has it already.

    The system gives the lock back when we end, however we end, and no child inherits it, so it can
    never be stale. The process id in the file is for people only.
    """
    path = state_dir / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode(errors="replace").strip()
            raise StandaloneError(
                f"SOAT already runs on {state_dir} (process {holder or 'unknown'}): "
                "stop that one, or give another state folder (--state-dir)."
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
