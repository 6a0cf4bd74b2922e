"""The state folder: where everything is that outlives a run, and the small files for people and shells."""

import base64
import os
import secrets
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from soat.standalone.errors import StandaloneError

_LARGEST_LOG = 20 * 1024**2


@dataclass(frozen=True, slots=True)
class StateFolder:
    """The paths below a state folder."""

    root: Path

    @property
    def postgres(self) -> Path:
        """The data folder of PostgreSQL."""
        return self.root / "postgres"

    @property
    def broker(self) -> Path:
        """The data folder of the broker."""
        return self.root / "broker"

    @property
    def files(self) -> Path:
        """The uploaded files."""
        return self.root / "files"

    @property
    def run(self) -> Path:
        """What is of use to this run and the next only."""
        return self.root / "run"

    @property
    def ledger(self) -> Path:
        """The list of what is running."""
        return self.run / "processes.json"

    @property
    def secrets(self) -> Path:
        """The keys that were made on the first start."""
        return self.root / "secrets.env"

    @property
    def server(self) -> Path:
        """What a management command needs to reach the running stack."""
        return self.root / "server.env"

    @property
    def credentials(self) -> Path:
        """What a user needs to call the API."""
        return self.root / "credentials.env"

    def log(self, name: str) -> Path:
        """Return the log of a program."""
        return self.root / "logs" / f"{name}.log"

    def make(self) -> None:
        """Make the folders that are missing, closed to others; set aside logs that have grown large."""
        # Only Linux lets PostgreSQL's own user work in a folder that it cannot enter by itself.
        closed = 0o711 if os.geteuid() == 0 and not sys.platform.startswith("linux") else 0o700
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir(mode=closed, exist_ok=True)
            for folder in (self.run, self.files, self.root / "logs"):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StandaloneError(f"The state folder {self.root} cannot be used: {error}.") from error
        for log in (self.root / "logs").glob("*.log"):
            if log.stat().st_size > _LARGEST_LOG:
                log.replace(log.with_suffix(".log.1"))


def keep_secrets(path: Path) -> dict[str, str]:
    """Return the keys of this installation, made on the first call and kept from then on."""
    found = read_env_file(path) if path.exists() else {}
    made = {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "FIELD_ENCRYPTION_KEYS": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
    }
    if not made.keys() <= found.keys():
        found = made | found
        write_env_file(path, found)
    return found


def write_env_file(path: Path, values: Mapping[str, str]) -> None:
    """Write assignments that a shell can read, for the owner only; never half a file."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.writelines(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def read_env_file(path: Path) -> dict[str, str]:
    """Read what ``write_env_file`` wrote."""
    try:
        words = shlex.split(path.read_text(), comments=True)
    except (OSError, ValueError) as error:
        raise StandaloneError(f"{path} cannot be read: {error}.") from error
    return dict(word.split("=", 1) for word in words if "=" in word)
