"""What the Dockerfile promises; its commands themselves are run by the tests of the services."""

import re
from pathlib import Path

from tests.operations.compose import PROJECT, image_environment, instructions, of_kind


def test_it_runs_as_nobody_in_particular() -> None:
    kinds = [name for name, _ in instructions()]
    assert of_kind("USER") == ["soat"]
    last_run = len(kinds) - 1 - kinds[::-1].index("RUN")
    assert kinds.index("USER") > last_run
    assert kinds.count("FROM") == 2
    assert all(re.fullmatch(r"python:3\.11-slim( AS packages)?", image) for image in of_kind("FROM"))


def test_packages_come_with_their_hashes() -> None:
    (install,) = [command for command in of_kind("RUN") if "pip install" in command]
    assert "--require-hashes" in install
    assert "requirements/multilingual.txt /tmp/packages.txt" in of_kind("COPY")


def test_no_secret_is_baked_in() -> None:
    names = set(image_environment())
    assert {"PYTHONUNBUFFERED", "ORT_DISABLE_TELEMETRY"} <= names
    assert not [name for name in names if re.search("KEY|SECRET|PASSWORD|TOKEN|URL", name)]
    assert of_kind("ARG") == []


def test_only_the_server_goes_in() -> None:
    patterns = (PROJECT / ".dockerignore").read_text().splitlines()
    rules = [pattern for pattern in patterns if pattern and not pattern.startswith("#")]
    assert rules[0] == "*"
    assert "**/.env*" in rules
    allowed = {Path(rule[1:]).parts[0] for rule in rules if rule.startswith("!")}
    assert not allowed & {"tests", "benchmarks", "var", ".venv", ".git", "docs", ".env"}
    packages = {path.parent.name for path in PROJECT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert packages <= allowed, "every package of the project goes in"
