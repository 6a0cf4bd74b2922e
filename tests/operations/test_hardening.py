"""A server as in production behind a proxy with TLS: headers, cookies, origins, what processes count together."""

import re
from collections.abc import Callable

import httpx

from tests.operations.deployment import PASSWORD, Deployment

ORIGIN = "https://app.example.com"
LIMIT = 60


def test_a_server_in_the_open(deploy: Callable[..., Deployment]) -> None:
    site = deploy(
        "open",
        SOAT_BASE_URL="https://soat.example.com",
        CORS_ALLOWED_ORIGINS=ORIGIN,
        RATE_LIMIT_PER_MINUTE=str(LIMIT),
        TRUSTED_PROXIES="1",
        WEB_WORKERS="2",
    )
    site.start("web")
    site.wait_answering()
    by_proxy = {"Host": "soat.example.com", "X-Forwarded-Proto": "https"}
    with httpx.Client(base_url=site.url, headers={**by_proxy, "Connection": "close"}, timeout=30) as http:
        account = {"username": "root", "password": PASSWORD}
        http.post("/api/v1/users/bootstrap", json=account).raise_for_status()
        token = http.post("/api/v1/users/login", json=account).raise_for_status().json()["token"]
        check_headers(http)
        check_admin(http)
        check_origins(http)
        check_logins(http, site)
        check_limit(http, {"Authorization": f"Bearer {token}"})
    assert site.rows("SELECT operation, address FROM audit_auditevent") == [("bootstrapUser", "127.0.0.1")]


def check_headers(http: httpx.Client) -> None:
    answer = http.get("/api/v1/users/me")
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert "Set-Cookie" not in answer.headers
    plain = http.get("/api/v1/users/me", headers={"X-Forwarded-Proto": "http"})
    assert (plain.status_code, plain.headers["Location"]) == (301, "https://soat.example.com/api/v1/users/me")


def check_admin(http: httpx.Client) -> None:
    """Log in as a browser does; the cookies go by TLS only, so they are sent on by hand here."""
    page = http.get("/admin/login/")
    form_token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert form_token is not None
    cookie = page.headers["Set-Cookie"]
    for flag in ("Secure", "HttpOnly", "SameSite=Lax"):
        assert flag in cookie
    form = {"username": "root", "password": PASSWORD, "csrfmiddlewaretoken": form_token[1], "next": "/admin/"}
    own = {"Cookie": cookie.partition(";")[0], "Origin": "https://soat.example.com"}
    for headers in ({}, {**own, "Origin": ORIGIN}, {"Origin": own["Origin"]}):
        assert http.post("/admin/login/", data=form, headers=headers).status_code == 403
    entered = http.post("/admin/login/", data=form, headers=own)
    assert entered.status_code == 302
    session = next(line for line in entered.headers.get_list("Set-Cookie") if line.startswith("sessionid="))
    for flag in ("Secure", "HttpOnly", "SameSite=Lax"):
        assert flag in session
    inside = {"Cookie": session.partition(";")[0]}
    assert http.get("/admin/", headers=inside).status_code == 200
    assert http.get("/api/v1/users/me", headers=inside).status_code == 401


def check_origins(http: httpx.Client) -> None:
    asked = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization, content-type"}
    answer = http.options("/api/v1/documents", headers={"Origin": ORIGIN, **asked})
    assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, ORIGIN)
    assert "PATCH" in answer.headers["Access-Control-Allow-Methods"]
    assert "authorization" in answer.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in answer.headers
    refused = http.get("/api/v1/documents", headers={"Origin": ORIGIN})
    assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (401, ORIGIN)
    assert "RateLimit-Remaining" in refused.headers["Access-Control-Expose-Headers"]
    for path, origin in (("/api/v1/documents", "https://evil.example"), ("/admin/login/", ORIGIN), ("/health", ORIGIN)):
        answer = http.options(path, headers={"Origin": origin, **asked})
        assert "Access-Control-Allow-Origin" not in answer.headers


def check_logins(http: httpx.Client, site: Deployment) -> None:
    """Fail more often than is free: with two processes each would be free of it for itself."""

    def attempt(address: str) -> httpx.Response:
        wrong = {"username": "nobody", "password": "wrong"}
        return http.post("/api/v1/users/login", json=wrong, headers={"X-Forwarded-For": f"10.0.0.1, {address}"})

    answers = [attempt(f"192.0.2.{number}") for number in range(8)]
    assert [answer.status_code for answer in answers[:6]] == [401] * 6
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["error"]["code"] == "RATE_LIMITED"
    assert int(refused.headers["Retry-After"]) >= 1
    # One row of the account, and one of each address from which an attempt was let through.
    attempted = sum(answer.status_code == 401 for answer in answers)
    assert site.rows("SELECT count(*) FROM tenancy_loginattempts WHERE failures > 0") == [(1 + attempted,)]


def check_limit(http: httpx.Client, headers: dict[str, str]) -> None:
    """Ask more often than is allowed in two minutes, in case one ends meanwhile."""
    answers = [http.get("/api/v1/users/me", headers=headers) for _ in range(2 * LIMIT + 1)]
    statuses = {answer.status_code for answer in answers}
    assert statuses == {200, 429}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.headers["RateLimit-Limit"] == str(LIMIT)
    assert refused.headers["RateLimit-Remaining"] == "0"
    assert refused.headers["Retry-After"] == refused.headers["RateLimit-Reset"]
