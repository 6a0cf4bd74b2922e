"""Lines of the log, and the id that every answer carries."""

import json
import logging
import sys

import pytest
from django.http import HttpRequest
from django.test import Client as Browser
from structlog.contextvars import bound_contextvars, get_contextvars

from documents.tasks import clear
from soat.operations.logs import formatter, logging_settings
from tests.conftest import PASSWORD, Cast


def line(style: str, message: str, *arguments: object, **extra: object) -> str:
    """Return a message of some library as it is written."""
    record = logging.getLogger("some.library").makeRecord(
        "some.library", logging.WARNING, "file.py", 1, message, arguments, None, extra=extra
    )
    return formatter(style).format(record)


def test_a_json_line() -> None:
    with bound_contextvars(document_id="doc_1", attempt_id=7):
        written = json.loads(line("json", "%d texts", 3, status=200, body="not shown"))
    timestamp = written.pop("timestamp")
    assert written == {
        "message": "3 texts",
        "level": "warning",
        "logger": "some.library",
        "document_id": "doc_1",
        "attempt_id": 7,
        "status": 200,
    }
    assert timestamp.endswith("Z")


def test_a_line_for_people() -> None:
    with bound_contextvars(task_id="t-1"):
        written = line("console", "three texts")
    assert written.endswith("[warning  ] three texts [some.library] task_id=t-1")


@pytest.mark.parametrize("style", ["json", "console"])
def test_a_traceback_shows_no_values(style: str) -> None:
    secret = "a-secret-in-a-variable"
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        record = logging.LogRecord("name", logging.ERROR, "file.py", 1, "It broke", None, sys.exc_info())
    written = formatter(style).format(record)
    assert "RuntimeError: broken" in written
    assert secret not in written


def test_what_others_send_is_not_logged_at_any_level() -> None:
    loggers = logging_settings(level="DEBUG", style="json")["loggers"]
    for name in ("botocore", "boto3", "httpx", "httpcore", "openai", "urllib3"):
        assert loggers[name]["level"] == "WARNING"
    assert loggers["django.db.backends"]["level"] == "INFO"


@pytest.mark.parametrize("wanted", ["abc", "Root=1-67891233-abcdef012345678912345678", "4bf92f35/77b34da6:1"])
def test_a_request_keeps_its_id(cast: Cast, wanted: str) -> None:
    assert cast.a.get("/api/v1/users/me", HTTP_X_REQUEST_ID=wanted)["X-Request-Id"] == wanted


@pytest.mark.parametrize("wanted", ["", "two words", "a" * 129, "é", 'a","level":"error', "a\x1b[2J"])
def test_an_id_that_would_spoil_the_log_is_replaced(cast: Cast, wanted: str) -> None:
    given = cast.a.get("/api/v1/users/me", HTTP_X_REQUEST_ID=wanted)["X-Request-Id"]
    assert given != wanted
    assert len(given) == 32


def test_errors_have_an_id_too(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(request: HttpRequest) -> None:
        raise RuntimeError("a crash")

    answers = [
        (cast.anonymous.get("/api/v1/users/me"), 401),
        (cast.a.get("/nowhere"), 404),
        (cast.a.delete("/api/v1/users/me"), 405),
        (cast.a.post("/api/v1/documents", "{", content_type="application/json"), 400),
        (cast.a.get("/admin/", HTTP_HOST="not.allowed"), 400),
    ]
    monkeypatch.setattr("soat.tenancy.api.views.UserViewSet.me", crash)
    monkeypatch.setattr("soat.api.health._database_checks", lambda: crash(HttpRequest()))
    answers += [(cast.a.get("/api/v1/users/me"), 500), (cast.a.get("/health/ready"), 500)]
    for answer, status in answers:
        assert (answer.status_code, len(answer["X-Request-Id"])) == (status, 32)


def test_lines_name_the_caller_and_what_it_is_about(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    caplog.handler.setFormatter(formatter("json"))
    cast.a.get("/api/v1/documents/doc_unknown", HTTP_X_REQUEST_ID="one")
    cast.admin.get("/api/v1/documents?path_prefix=/in-the-query", HTTP_X_REQUEST_ID="two")
    browser = Browser()
    assert browser.login(username="root", password=PASSWORD)
    browser.get("/admin/", HTTP_X_REQUEST_ID="three")
    browser.get("/health", HTTP_X_REQUEST_ID="four")
    lines = {each["request_id"]: each for each in map(json.loads, caplog.text.splitlines()) if "request_id" in each}
    assert lines["one"]["operation"] == "getDocument"
    assert lines["one"]["document_id"] == "doc_unknown"
    assert lines["one"]["status"] == 404
    assert lines["one"]["key_id"].startswith("key_")
    assert lines["two"]["user_id"] == lines["three"]["user_id"] == cast.admin_user.public_id
    assert (lines["two"]["operation"], lines["two"]["status"]) == ("listDocuments", 200)
    assert "key_id" not in lines["two"]
    assert lines["three"]["operation"] == "admin"
    assert "four" not in lines, "probes are no news"
    assert "in-the-query" not in caplog.text
    assert get_contextvars() == {}, "nothing sticks to the thread"


def test_a_task_that_runs_inside_a_request_gives_the_context_back(db: None, eager_tasks: None) -> None:
    with bound_contextvars(request_id="outer"):
        clear.delay()
        assert get_contextvars() == {"request_id": "outer"}
