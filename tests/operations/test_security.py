"""What the settings make of an address: nothing to complain of with https, nothing in the way without."""

import subprocess
import sys
from collections.abc import Mapping

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from tests.operations.compose import PROJECT
from tests.standalone.runs import bare_environment

PRODUCTION = {
    "SECRET_KEY": "2kD8-vN4pQ7rS1tU6wX9yZ3aB5cE0fG_hJiKlMnOoPqRrSsTtUuVvWw",
    "FIELD_ENCRYPTION_KEYS": "dGhlLXRlc3RzLWhhdmUtYS1rZXktb2YtdGhlaXItb3c=",
    "SOAT_BASE_URL": "https://soat.example.com",
    "DATABASE_URL": "postgres://soat@database/soat",
}
NAMES = (
    "DEBUG",
    "ALLOWED_HOSTS",
    "SESSION_COOKIE_SECURE",
    "CSRF_COOKIE_SECURE",
    "SECURE_SSL_REDIRECT",
    "SECURE_HSTS_SECONDS",
    "SECURE_PROXY_SSL_HEADER",
    "CSRF_TRUSTED_ORIGINS",
)


def manage(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return run("manage.py", *arguments, environment=environment)


def run(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env={**bare_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def settings_of(**environment: str) -> dict[str, object]:
    show = f"from soat import settings; print({{name: getattr(settings, name, None) for name in {NAMES!r}}})"
    shown = run("-c", show, environment={**PRODUCTION, **environment})
    assert shown.returncode == 0, shown.stderr
    values: dict[str, object] = eval(shown.stdout)
    return values


def test_nothing_to_complain_of_in_production() -> None:
    checked = manage("check", "--deploy", "--fail-level", "DEBUG", environment=PRODUCTION)
    assert checked.returncode == 0, checked.stderr
    assert "System check identified no issues (2 silenced)." in checked.stdout


def test_without_an_address_django_complains() -> None:
    checked = manage("check", "--deploy", environment={**PRODUCTION, "SOAT_BASE_URL": ""})
    for name in ("SECURE_HSTS_SECONDS", "SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE"):
        assert name in checked.stderr


def test_an_https_address_and_what_can_be_changed() -> None:
    assert settings_of() == {
        "DEBUG": False,
        "ALLOWED_HOSTS": ["soat.example.com", "localhost", "127.0.0.1", "[::1]"],
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SECURE_SSL_REDIRECT": True,
        "SECURE_HSTS_SECONDS": 31_536_000,
        "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
        "CSRF_TRUSTED_ORIGINS": ["https://soat.example.com"],
    }
    changed = settings_of(
        SECURE_SSL_REDIRECT="false", SECURE_HSTS_SECONDS="0", SECURE_PROXY_SSL_HEADER="X-Scheme", ALLOWED_HOSTS="a,b"
    )
    assert changed["SECURE_PROXY_SSL_HEADER"] == ("HTTP_X_SCHEME", "https")
    assert (changed["SECURE_SSL_REDIRECT"], changed["SECURE_HSTS_SECONDS"]) == (False, 0)
    assert changed["ALLOWED_HOSTS"] == ["a", "b"]


def test_plain_http_on_this_machine_stays_usable() -> None:
    values = settings_of(SOAT_BASE_URL="http://127.0.0.1:5047", SECURE_PROXY_SSL_HEADER="none")
    assert not values["SECURE_SSL_REDIRECT"]
    assert not values["SESSION_COOKIE_SECURE"]
    assert values["SECURE_PROXY_SSL_HEADER"] is None
    assert values["SECURE_HSTS_SECONDS"] == 0


def test_http_is_sent_to_https_except_for_probes(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_HSTS_SECONDS = 60
    answer = client.get("/api/v1/users/me")
    assert (answer.status_code, answer["Location"]) == (301, "https://testserver/api/v1/users/me")
    behind = client.get("/api/v1/users/me", headers={"X-Forwarded-Proto": "https"})
    assert behind.status_code == 401
    assert behind["Strict-Transport-Security"] == "max-age=60"
    assert client.get("/health").status_code == 200
    assert client.get("/metrics").status_code == 404


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"CORS_ALLOWED_ORIGINS": "https://a.example,app.example"}, "'app.example' is none."),
        ({"CORS_ALLOWED_ORIGINS": "https://a.example/path"}, "'https://a.example/path' is none."),
        ({"CORS_ALLOWED_ORIGINS": "*"}, "'*' is none."),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT must be one of console, json"),
        ({"METRICS_WORKER_PORT": "9100"}, "METRICS_WORKER_PORT needs METRICS_DIR and METRICS_TOKEN."),
        ({"METRICS_DIR": "/dev/null/metrics"}, "METRICS_DIR cannot be used: "),
    ],
)
def test_a_wrong_setting_is_told_in_a_sentence(environment: Mapping[str, str], sentence: str) -> None:
    checked = manage("check", environment={**PRODUCTION, **environment})
    assert checked.returncode == 1
    assert sentence in checked.stderr
