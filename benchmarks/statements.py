"""What the database is sent for a search, as JSON for a measurement: ``python -m benchmarks.statements``.

Runs with the settings of a stack. Reads ``{"token": …, "bodies": […]}``; answers with the options of a
connection and, for each body, all statements as they are sent.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import django
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.material import PROJECT

SEARCH = "/api/v1/knowledge/search"


@dataclass(frozen=True, slots=True)
class Statements:
    """How the product connects, and what it sends for each search."""

    options: str
    sent: list[list[str]]


def statements_of(settings: Mapping[str, str], token: str, bodies: Sequence[dict[str, Any]]) -> Statements:
    """Return what is sent for searches of these bodies, from a process of its own."""
    environment = {**os.environ, **settings, "LOG_LEVEL": "ERROR"}
    command = [sys.executable, "-m", "benchmarks.statements"]
    asked = json.dumps({"token": token, "bodies": list(bodies)})
    answer = subprocess.run(  # noqa: S603
        command, cwd=PROJECT, env=environment, input=asked, capture_output=True, text=True, check=True
    )
    return Statements(**json.loads(answer.stdout.splitlines()[-1]))


def main() -> None:
    """Answer one request on the standard streams."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soat.settings")
    django.setup()
    asked = json.load(sys.stdin)
    client = Client(headers={"authorization": f"Bearer {asked['token']}", "host": "localhost"})
    client.get("/health")
    sent = [_sent(client, body) for body in asked["bodies"]]
    options = connection.settings_dict["OPTIONS"]["options"]
    sys.stdout.write(json.dumps({"options": options, "sent": sent}) + "\n")


def _sent(client: Client, body: dict[str, Any]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        answer = client.post(SEARCH, json.dumps(body), content_type="application/json")
    if answer.status_code != 200:  # noqa: PLR2004
        raise SystemExit(answer.content.decode())
    return [query["sql"] for query in queries]


if __name__ == "__main__":
    main()
