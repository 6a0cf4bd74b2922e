"""What is not there for a while is a 503 with a sentence, never a crash."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.test import Client

from soat.tenancy import projects
from tests.api.answers import body_of, error_of
from tests.conftest import Cast

connection: Any = connections["default"]


@pytest.fixture
def no_database(committed_cast: Cast) -> Iterator[Cast]:
    """The cast, and a database at whose address nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    settings = connection.settings_dict
    saved = {name: settings[name] for name in ("HOST", "PORT", "OPTIONS")}
    options = {name: value for name, value in settings["OPTIONS"].items() if name != "host"}
    options["pool"] = {**options["pool"], "timeout": 0.3}
    connection.close()
    connection.close_pool()
    settings.update(HOST="127.0.0.1", PORT=str(port), OPTIONS=options)
    yield committed_cast
    connection.close()
    connection.close_pool()
    settings.update(saved)


def test_without_a_database_nothing_crashes(no_database: Cast) -> None:
    for client in (no_database.a, no_database.admin):
        answer = client.get("/api/v1/projects")
        error_of(answer, 503, "RESOURCE_BUSY")
        assert answer["Retry-After"] == "5"
    login = {"username": "root", "password": "x"}
    error_of(no_database.anonymous.post("/api/v1/users/login", login, format="json"), 503, "RESOURCE_BUSY")
    assert body_of(Client().get("/health")) == {"status": "ok"}
    checks = body_of(Client().get("/health/ready"), 503)["checks"]
    assert checks == {"database": "the database does not answer", "broker": "ok"}
    error_of(Client().get("/nope"), 404, "RESOURCE_NOT_FOUND")


def test_a_database_that_comes_back_is_used_again(committed_cast: Cast) -> None:
    connection.close_pool()
    body_of(committed_cast.a.get("/api/v1/projects"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s", [pid])
    connection.close()
    body_of(committed_cast.a.get("/api/v1/projects"))


def test_a_database_that_breaks_off_in_the_middle_is_busy(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**values: object) -> None:
        raise OperationalError("server closed the connection unexpectedly: host=10.1.2.3 user=soat")

    monkeypatch.setattr(projects, "create_project", fail)
    answer = cast.admin.post("/api/v1/projects", {"name": "x"}, format="json")
    error_of(answer, 503, "RESOURCE_BUSY")
    assert "10.1.2.3" not in answer.content.decode()
