"""One shape for every error, wherever in the server it comes from."""

import re
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from soat.tenancy import projects
from tests.api.answers import body_of, error_of
from tests.conftest import Cast

PROJECTS = "/api/v1/projects"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nope",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v1/nope",
        "/api/v2/projects",
        "/api/v1/projects/",
        "/api/v1/Projects",
        "/api/v1/projects/a/b/c",
        "/api/v1/projects/%00",
        "/api/v1/projects/a%00b",
        "/api/v1/projects/a%0Ab",
        "/api/v1/projects/%FF%FE",
        "/api/v1/projects/%ED%A0%80",
        "/api/v1/projects/%E2%80%AE",
        "/api/v1/projects/a%2Fb",
        "/api/v1/projects/..%2F..%2Fetc%2Fpasswd",
        "/api/v1/projects/" + "a" * 65,
        "/api/v1/projects/" + "a" * 5_000,
        "/api/v1//projects",
        "/" + "a/" * 2_000,
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path(cast: Cast, path: str, method: str) -> None:
    # A browser's form would meet the check for forgery here, which the client leaves out unless it is told.
    client: Any = APIClient(enforce_csrf_checks=True, raise_request_exception=False)
    error_of(client.generic(method, path, b"{}", content_type="application/json"), 404, "RESOURCE_NOT_FOUND")


@pytest.mark.parametrize("query", ["?%00", "?a=%00", "?%FF=%FE", "?" + "&".join("a" * 3_000), "?a=" + "b" * 50_000])
def test_an_unknown_path_with_any_query(query: str) -> None:
    error_of(Client().get(f"/nope{query}"), 404, "RESOURCE_NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", PROJECTS, "GET, POST, HEAD, OPTIONS"),
        ("POST", "/docs", "GET, HEAD, OPTIONS"),
        ("DELETE", PROJECTS, "GET, POST, HEAD, OPTIONS"),
        ("PUT", f"{PROJECTS}/proj_x", "GET, PATCH, DELETE, HEAD, OPTIONS"),
        ("GET", "/api/v1/users/login", "POST, OPTIONS"),
        ("GET", "/api/v1/users/bootstrap", "POST, OPTIONS"),
        ("POST", "/api/v1/users/me", "GET, HEAD, OPTIONS"),
        ("PATCH", "/api/v1/api-keys/key_x", "GET, PUT, DELETE, HEAD, OPTIONS"),
        ("GET", "/api/v1/files/upload/base64", "POST, OPTIONS"),
        ("GET", "/api/v1/embeddings", "POST, OPTIONS"),
        ("PATCH", "/api/v1/memories/mem_x", "GET, PUT, DELETE, HEAD, OPTIONS"),
        ("PUT", "/api/v1/documents/doc_x", "GET, PATCH, DELETE, HEAD, OPTIONS"),
        ("GET", "/api/v1/knowledge/search", "POST, OPTIONS"),
        ("BREW", PROJECTS, "GET, POST, HEAD, OPTIONS"),
        ("get", PROJECTS, None),
    ],
)
def test_a_method_that_a_path_does_not_take(cast: Cast, method: str, path: str, allowed: str | None) -> None:
    answer = cast.admin.generic(method, path)
    if allowed is None:
        body_of(answer)
        return
    error_of(answer, 405, "METHOD_NOT_ALLOWED")
    assert set(answer["Allow"].split(", ")) == set(allowed.split(", "))


@pytest.mark.parametrize("path", [PROJECTS, f"{PROJECTS}/proj_x", "/api/v1/api-keys/key_x", "/api/v1/files/upload"])
def test_options_names_the_methods(cast: Cast, path: str) -> None:
    answer = cast.admin.options(path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "OPTIONS" in answer["Allow"]
    error_of(cast.anonymous.options(path), 401, "UNAUTHORIZED")


def test_a_head_has_no_body(cast: Cast) -> None:
    answer = cast.a.head(PROJECTS)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer["Content-Length"]) > 50
    missing = cast.a.head(f"{PROJECTS}/proj_unknown")
    assert (missing.status_code, missing.content) == (404, b"")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/png", "garbage", "", "a/b;q=nonsense"])
def test_the_answer_is_json_whatever_is_accepted(cast: Cast, accept: str) -> None:
    body_of(cast.a.get(PROJECTS, HTTP_ACCEPT=accept))
    error_of(cast.a.get(f"{PROJECTS}/proj_unknown", HTTP_ACCEPT=accept), 404, "RESOURCE_NOT_FOUND")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "a b", "[::1", "localhost:port", "é.example"])
def test_a_host_that_is_not_ours(host: str) -> None:
    for path in ("/health", PROJECTS, "/nope"):
        error_of(Client().get(path, HTTP_HOST=host), 400)


def test_a_crash_says_nothing_of_itself(cast: Cast, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def crash(**values: Any) -> None:
        raise RuntimeError("the-secret-inside")

    monkeypatch.setattr(projects, "create_project", crash)
    answer = cast.admin.post(PROJECTS, {"name": "x"}, format="json")
    error_of(answer, 500, "INTERNAL_ERROR")
    assert "secret" not in answer.content.decode()
    assert "the-secret-inside" in caplog.text


def test_a_crash_outside_of_the_views_has_the_same_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*values: Any) -> None:
        raise RuntimeError("the-secret-inside")

    monkeypatch.setattr("soat.api.health._database_checks", crash)
    answer = Client(raise_request_exception=False).get("/health/ready")
    error_of(answer, 500, "INTERNAL_ERROR")
    assert "secret" not in answer.content.decode()


def test_a_crash_in_a_middleware_has_the_same_shape(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*values: Any) -> None:
        raise RuntimeError("the-secret-inside")

    monkeypatch.setattr("soat.api.middleware._extends_ascii", crash)
    for path in (PROJECTS, "/health", "/nope"):
        answer = cast.admin.generic("POST", path, "{}", content_type="application/json; charset=ascii")
        error_of(answer, 500, "INTERNAL_ERROR")
        assert b"secret" not in answer.content
        assert answer["X-Request-Id"]


@pytest.mark.parametrize(
    "path",
    ["/", "/health", "/health/ready", "/docs", "/metrics", "/static/nope.css", "/admin/", "/admin/nope", PROJECTS],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "BREW"])
def test_each_answer_has_an_id(path: str, method: str) -> None:
    client = Client(raise_request_exception=False)
    answer = client.generic(method, path)
    assert re.fullmatch("[0-9a-f]{32}", answer["X-Request-Id"])
    assert client.generic(method, path, HTTP_X_REQUEST_ID="mine-1")["X-Request-Id"] == "mine-1"
    for odd in ("a\nb", "a b", "\xff", "a" * 129):
        assert re.fullmatch("[0-9a-f]{32}", client.generic(method, path, HTTP_X_REQUEST_ID=odd)["X-Request-Id"])


def test_no_answer_may_be_sniffed_or_framed(cast: Cast) -> None:
    for answer in (cast.a.get(PROJECTS), cast.a.get(f"{PROJECTS}/proj_unknown"), Client().get("/nope")):
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["X-Frame-Options"] == "DENY"
