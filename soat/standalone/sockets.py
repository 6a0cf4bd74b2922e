"""Short and safe folders for sockets.

The path of a socket may have 107 bytes on Linux and 103 on macOS, so sockets cannot live below a
state folder of any depth: they go to the temporary folder, under a name that follows from the data
folder and the user.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from soat.standalone.accounts import Account, may
from soat.standalone.errors import StandaloneError

_INNER = "postgres"
_LONGEST_BASE = 60
_PLAIN = re.compile(r"[A-Za-z0-9._/+-]+")


def socket_folder(data_dir: Path, account: Account | None = None) -> Path:
    """Return where the sockets of a data folder live, whether it exists or not.

    With an ``account`` we are root, and the sockets are those of a server that runs as the account.
    """
    key = f"{os.geteuid()}:{data_dir.resolve()}"
    outer = _base(account) / f"soat-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    return outer if account is None else outer / _INNER


def outer_folder(data_dir: Path, account: Account | None = None) -> Path:
    """Return the folder in the temporary folder that holds the sockets, directly or one further down."""
    folder = socket_folder(data_dir, account)
    return folder if account is None else folder.parent


def make_socket_folder(data_dir: Path, account: Account | None = None) -> Path:
    """Make the folder so that only we can enter it, and ``account`` if there is one.

    The account gets a folder of its own inside one of root's, where nobody else can have put anything.
    """
    folder = socket_folder(data_dir, account)
    if account is None:
        _make(folder, 0o700)
        return folder
    _make(folder.parent, 0o711)
    folder.mkdir(mode=0o700, exist_ok=True)
    os.chown(folder, account.uid, account.gid)
    folder.chmod(0o700)
    return folder


def remove_socket_folder(data_dir: Path, account: Account | None = None) -> None:
    """Remove the folder with whatever a killed server left in it."""
    outer = outer_folder(data_dir, account)
    if _is_ours(outer):
        shutil.rmtree(outer, ignore_errors=True)


def _base(account: Account | None) -> Path:
    """Return the temporary folder, or /tmp where that one will not do.

    Its path may be too long, need quoting in an address, or be closed to the account.
    """
    folder = tempfile.gettempdir()
    fits = len(os.fsencode(folder)) <= _LONGEST_BASE and _PLAIN.fullmatch(folder)
    if fits and (account is None or may(account, "-x", Path(folder))):
        return Path(folder)
    return Path("/tmp")  # noqa: S108


def _make(folder: Path, mode: int) -> None:
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        if not _is_ours(folder):
            raise StandaloneError(
                f"{folder} was made by somebody else, so the sockets are not put there: remove it, "
                "or let TMPDIR name another folder."
            ) from None
    folder.chmod(mode)


def _is_ours(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
