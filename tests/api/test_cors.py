"""Web pages of other origins: only those that are named, only the API, never with cookies."""

from typing import Any

import pytest
from django.test import Client

from tests.conftest import Cast

ORIGIN = "https://app.example"
MEMORIES = "/api/v1/memories"


def preflight(path: str, origin: str = ORIGIN) -> Any:
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    return Client().options(path, headers={**headers, "Access-Control-Request-Headers": "authorization,content-type"})


def allowed(response: Any) -> str | None:
    found: str | None = response.headers.get("Access-Control-Allow-Origin")
    return found


def test_without_a_setting_no_origin_is_let_in(cast: Cast) -> None:
    assert allowed(preflight(MEMORIES)) is None
    assert allowed(cast.a.get(MEMORIES, headers={"Origin": ORIGIN})) is None


def test_a_named_origin_may_call_the_api(cast: Cast, settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = [ORIGIN]
    answer = preflight(MEMORIES)
    assert (answer.status_code, allowed(answer)) == (200, ORIGIN)
    assert "authorization" in answer["Access-Control-Allow-Headers"].lower()
    assert "PUT" in answer["Access-Control-Allow-Methods"]
    assert "Access-Control-Allow-Credentials" not in answer
    called = cast.a.get(MEMORIES, headers={"Origin": ORIGIN})
    assert (called.status_code, allowed(called)) == (200, ORIGIN)
    assert "X-Request-Id" in called["Access-Control-Expose-Headers"]
    refused = cast.anonymous.get(MEMORIES, headers={"Origin": ORIGIN})
    assert (refused.status_code, allowed(refused)) == (401, ORIGIN)


@pytest.mark.parametrize("origin", ["https://other.example", "http://app.example", "https://app.example.evil", "null"])
def test_another_origin_is_not(cast: Cast, settings: Any, origin: str) -> None:
    settings.CORS_ALLOWED_ORIGINS = [ORIGIN]
    assert allowed(preflight(MEMORIES, origin)) is None
    assert allowed(cast.a.get(MEMORIES, headers={"Origin": origin})) is None


@pytest.mark.parametrize("path", ["/admin/login/", "/health", "/metrics"])
def test_nothing_but_the_api_is_open(cast: Cast, settings: Any, path: str) -> None:
    settings.CORS_ALLOWED_ORIGINS = [ORIGIN]
    assert allowed(preflight(path)) is None
    assert allowed(Client().get(path, headers={"Origin": ORIGIN})) is None
