"""docker-compose.yml and Dockerfile, read as Docker reads them, so that their commands can be run by hand."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parents[2]

_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^{}]*))?\})")


class Missing(Exception):
    """A variable without which ``docker compose`` refuses to start."""


@dataclass(frozen=True)
class Service:
    """What one service runs, and with which environment."""

    command: list[str]
    environment: dict[str, str]
    healthcheck: list[str]


@cache
def compose_file() -> dict[str, Any]:
    """Return the file as it stands, its anchors resolved."""
    loaded: dict[str, Any] = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())
    return loaded


def service(name: str, dot_env: Mapping[str, str]) -> Service:
    """Return a service as it is run with these variables in ``.env``."""
    entry = compose_file()["services"][name]
    environment = {**image_environment(), **dot_env}
    environment |= {name: interpolated(str(value), dot_env) for name, value in entry["environment"].items()}
    return Service(
        command=[interpolated(part, dot_env) for part in entry["command"]],
        environment=environment,
        healthcheck=_check(entry.get("healthcheck", {}).get("test", []), dot_env),
    )


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """Replace ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}``. Raises ``Missing``."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        found = variables.get(match["name"], "")
        if not found and match["kind"] == "?":
            raise Missing(f"{match['name']}: {match['rest']}")
        return found or (match["rest"] or "" if match["kind"] == "-" else "")

    assert not re.search(r"\$(?!\$|\{\w+(:[-?][^{}]*)?\})", text.replace("$$", "")), f"cannot be read: {text}"
    return _VARIABLE.sub(value, text)


def _check(test: list[str], variables: Mapping[str, str]) -> list[str]:
    match [interpolated(part, variables) for part in test]:
        case ["CMD", *command]:
            return command
        case ["CMD-SHELL", line]:
            return ["sh", "-c", line]
    return []


@cache
def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile: name and arguments, continued lines joined, comments left out."""
    text = (PROJECT / "Dockerfile").read_text()
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", lines)
    parts = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name, arguments) for name, arguments in parts]


def of_kind(name: str) -> list[str]:
    """Return the arguments of the instructions with this name."""
    return [arguments for each, arguments in instructions() if each == name]


def image_environment() -> dict[str, str]:
    """Return what the image sets, except for the path of its programs."""
    assignments = [part for arguments in of_kind("ENV") for part in shlex.split(arguments)]
    return {name: value for name, _, value in (part.partition("=") for part in assignments) if name != "PATH"}


def image_healthcheck() -> list[str]:
    """Return the command of the image's own health check."""
    command: list[str] = json.loads(of_kind("HEALTHCHECK")[0].partition("CMD")[2])
    return command
