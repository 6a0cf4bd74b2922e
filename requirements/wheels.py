"""Check that every locked package has a wheel for each platform and Python: ``make locks``.

Asks the registry, by uv's resolver with building switched off; what is missing is listed by platform.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LOCKS = ("standalone.txt", "dev.txt")
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
    "macOS 14 arm64": "aarch64-apple-darwin",
    "macOS 14 x86-64": "x86_64-apple-darwin",
}
KNOWN_GAPS = {"macOS 14 x86-64"}
"""Platforms that some packages have given up: shown, but no failure."""

_PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^ \\;]+)(?: ; (?P<marker>[^\\]+?))? *\\?$", re.MULTILINE)
_MISSING = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+) has no (?:usable )?wheels")


def main() -> None:
    """Print the table and fail where a package is missing."""
    failed = False
    for lock in LOCKS:
        for platform, tag in PLATFORMS.items():
            for python in PYTHONS:
                missing = missing_wheels((FOLDER / lock).read_text(), tag, python)
                failed |= bool(missing) and platform not in KNOWN_GAPS
                print(f"{lock:<15} {platform:<16} {python:<5} {', '.join(missing) or 'complete'}", flush=True)
    sys.exit(1 if failed else 0)


def missing_wheels(lock: str, platform: str, python: str) -> list[str]:
    """Return the pins of a lock that have no wheel, found one by one."""
    pins = {pin.group().rstrip(" \\"): pin["name"] for pin in _PIN.finditer(lock)}
    missing: list[str] = []
    while True:
        complaint = _resolve("\n".join(pins), platform, python)
        if complaint is None:
            return missing
        found = _MISSING.search(complaint)
        if found is None:
            sys.exit(complaint)
        missing.append(f"{found['name']} {found['version']}")
        pins = {pin: name for pin, name in pins.items() if name != found["name"]}


def _resolve(pins: str, platform: str, python: str) -> str | None:
    """Return what uv says against the pins, ``None`` for nothing."""
    finished = subprocess.run(  # noqa: S603
        [
            *(str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet", "--no-deps", "-"),
            *("--only-binary", ":all:", "--python-platform", platform, "--python-version", python),
        ],
        input=pins,
        env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"},
        capture_output=True,
        text=True,
        check=False,
    )
    return None if finished.returncode == 0 else finished.stderr


if __name__ == "__main__":
    main()
