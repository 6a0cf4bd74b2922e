"""Whom PostgreSQL runs as: it refuses to run as root."""

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from soat.standalone.errors import StandaloneError


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine."""

    name: str
    uid: int
    gid: int


def database_account() -> Account | None:
    """Return the user that PostgreSQL has to run as, or ``None`` for the one we are.

    Raises ``StandaloneError`` where PostgreSQL cannot run at all.
    """
    if os.geteuid() == 0:
        return _nobody()
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        raise StandaloneError(
            f"PostgreSQL needs a user with a name, and user id {os.geteuid()} has none on this machine: "
            "add it to /etc/passwd, run as another user, or set DATABASE_URL to a server of your own."
        ) from None
    return None


def may(account: Account, test: str, path: Path) -> bool:
    """Tell whether the account can do something with a path, by trying it.

    ``test`` is an operator of test(1), such as ``-x``. Mode bits alone would not tell: every parent
    folder, access lists and read-only mounts have a say.
    """
    return run_as(account, ["/bin/sh", "-c", f'test {test} "$1"', "sh", str(path)]) == 0


def run_as(
    account: Account | None,
    command: Sequence[str],
    *,
    directory: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
) -> int:
    """Run a command as the account (``None``: as ourselves) and return its exit status.

    The directory is entered before we become the account. Without ``output`` nothing is shown.
    """
    try:
        finished = subprocess.run(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environment or {},
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            check=False,
        )
    except PermissionError:
        if account is None:
            raise
        raise StandaloneError(
            f"PostgreSQL does not run as root, and this root may not become the user {account.name}: "
            "run as an ordinary user, or set DATABASE_URL to a server of your own."
        ) from None
    return finished.returncode


def _nobody() -> Account:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise StandaloneError(
            "PostgreSQL does not run as root, and this machine has no user called nobody to run it as: "
            "run as an ordinary user, or set DATABASE_URL to a server of your own."
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
