"""Logins that fail are slowed down, and keys that ask too often are told to wait."""

import functools
import itertools
import secrets
import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from soat.tenancy import throttles
from soat.tenancy.models import ApiKey, LoginAttempts
from tests.api.answers import body_of, error_of
from tests.conftest import PASSWORD, Cast
from tests.core.test_broker import broker_at
from tests.memories.crowd import at_once

LOGIN = "/api/v1/users/login"
FREE = throttles.FREE_PER_ACCOUNT


def login(cast: Cast, password: str = "wrong", username: str = "root", **headers: str) -> Any:
    return cast.anonymous.post(LOGIN, {"username": username, "password": password}, format="json", headers=headers)


def pass_time(seconds: float) -> None:
    """Let the pauses run out by so much."""
    for row in LoginAttempts.objects.all():
        if row.blocked_until is not None:
            row.blocked_until -= timedelta(seconds=seconds)
        row.last_at -= timedelta(seconds=seconds)
        row.save()


@pytest.mark.parametrize("username", ["root", "nobody-of-this-name"])
def test_failures_of_an_account_are_slowed_down_more_and_more(cast: Cast, username: str) -> None:
    for _ in range(FREE + 1):
        error_of(login(cast, username=username), 401, "UNAUTHORIZED")
    pauses = []
    for _ in range(4):
        answer = login(cast, username=username)
        error_of(answer, 429, "RATE_LIMITED")
        pauses.append(int(answer["Retry-After"]))
        pass_time(pauses[-1])
        error_of(login(cast, username=username), 401, "UNAUTHORIZED")
    assert pauses == [1, 2, 4, 8]


def test_during_a_pause_the_right_password_waits_too_and_then_resets(cast: Cast) -> None:
    for _ in range(FREE + 1):
        login(cast)
    error_of(login(cast, PASSWORD), 429, "RATE_LIMITED")
    pass_time(2)
    body_of(login(cast, PASSWORD))
    for _ in range(FREE):
        error_of(login(cast), 401, "UNAUTHORIZED")


def test_an_account_is_not_slowed_down_by_another(cast: Cast) -> None:
    for _ in range(FREE + 2):
        login(cast, username="outsider")
    body_of(login(cast, PASSWORD))


def test_an_address_that_tries_many_accounts_is_slowed_down(cast: Cast) -> None:
    for number in range(throttles.FREE_PER_ADDRESS + 1):
        error_of(login(cast, username=f"user-{number}"), 401, "UNAUTHORIZED")
    error_of(login(cast, username="another"), 429, "RATE_LIMITED")
    other = Client(REMOTE_ADDR="192.0.2.1")
    answer = other.post(LOGIN, {"username": "root", "password": PASSWORD}, content_type="application/json")
    assert answer.status_code == 200


def test_success_does_not_use_up_the_address(cast: Cast) -> None:
    for _ in range(throttles.FREE_PER_ADDRESS + 5):
        body_of(login(cast, PASSWORD))


def test_many_at_once_are_no_way_around(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = [answer.status_code for answer in at_once([functools.partial(login, committed_cast)] * 16)]
    assert statuses.count(401) <= FREE + 1
    assert statuses.count(429) >= 16 - FREE - 1


def test_logins_that_succeed_and_fail_at_once_are_all_answered(committed_cast: Cast) -> None:
    """The row of an account goes with a success, under the hands of whoever counts a failure in it."""
    acts = [functools.partial(login, committed_cast, *password) for password in ([PASSWORD], []) for _ in range(8)]
    for _ in range(5):
        assert {answer.status_code for answer in at_once(acts)} <= {200, 401, 429}
        LoginAttempts.objects.all().delete()


def test_what_is_refused_counts_for_nobody(cast: Cast) -> None:
    """Else whoever is paused could keep everybody else out of an account, by asking on."""
    for number in range(throttles.FREE_PER_ADDRESS + 1):
        login(cast, username=f"user-{number}")
    counted = list(LoginAttempts.objects.order_by("pk").values_list("failures", "blocked_until"))
    for _ in range(FREE + 2):
        error_of(login(cast), 429, "RATE_LIMITED")
    assert list(LoginAttempts.objects.order_by("pk").values_list("failures", "blocked_until")) == counted
    other = Client(REMOTE_ADDR="192.0.2.1")
    answer = other.post(LOGIN, {"username": "root", "password": PASSWORD}, content_type="application/json")
    assert answer.status_code == 200


def test_old_failures_are_forgotten(cast: Cast) -> None:
    for _ in range(FREE):
        login(cast)
    pass_time(throttles.FORGOTTEN_AFTER.total_seconds() + 1)
    for _ in range(FREE):
        error_of(login(cast), 401, "UNAUTHORIZED")
    throttles.forget_attempts()
    assert LoginAttempts.objects.exists()
    LoginAttempts.objects.update(last_at=timezone.now() - throttles.FORGOTTEN_AFTER)
    throttles.forget_attempts()
    assert not LoginAttempts.objects.exists()


def test_the_pause_has_an_end() -> None:
    seconds = [throttles.pause_after(failures, 5).total_seconds() for failures in (0, 5, 6, 7, 8, 15, 16, 1_000)]
    assert seconds == [0, 0, 1, 2, 4, 512, 900, 900]


def test_the_page_of_the_admin_is_as_careful(cast: Cast) -> None:
    desk = Client()
    for _ in range(FREE + 1):
        desk.post("/admin/login/", {"username": "root", "password": "wrong"})
    page = desk.post("/admin/login/", {"username": "root", "password": PASSWORD})
    assert (page.status_code, page["Retry-After"]) == (429, "1")
    assert "Too many failed logins" in page.content.decode()
    assert desk.get("/admin/").status_code == 302
    error_of(login(cast, PASSWORD), 429, "RATE_LIMITED")
    pass_time(2)
    assert desk.post("/admin/login/", {"username": "root", "password": PASSWORD}).status_code == 302


@pytest.mark.parametrize(
    ("trusted", "forwarded", "counted"),
    [
        (0, "198.51.100.7", "127.0.0.1"),
        (1, "198.51.100.7", "198.51.100.7"),
        (1, "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        (2, "203.0.113.9, 198.51.100.7", "203.0.113.9"),
        (1, "198.51.100.7:51234", "198.51.100.7"),
        (1, "[2001:db8::7]:51234", "2001:db8::7"),
        (1, "::ffff:198.51.100.7", "198.51.100.7"),
        (1, "nonsense", "127.0.0.1"),
        (1, "", "127.0.0.1"),
        (2, "198.51.100.7", "127.0.0.1"),
    ],
)
def test_the_address_is_that_of_the_client_only_behind_trusted_proxies(
    cast: Cast, settings: Any, trusted: int, forwarded: str, counted: str
) -> None:
    settings.TRUSTED_PROXIES = trusted
    login(cast, **{"X-Forwarded-For": forwarded})
    subjects = {bytes(row.subject) for row in LoginAttempts.objects.all()}
    wanted = {subject for subject, _ in throttles._subjects("root", counted)}
    assert subjects == wanted
    assert len(wanted) == 2


def test_a_network_of_ipv6_counts_as_one_address() -> None:
    same, other = "2001:db8:1:2::1", "2001:db8:1:3::1"
    assert throttles._subjects("x", same)[1] == throttles._subjects("x", "2001:db8:1:2:ffff::9")[1]
    assert throttles._subjects("x", same)[1] != throttles._subjects("x", other)[1]


@pytest.fixture
def limited(cast: Cast, settings: Any) -> Iterator[Cast]:
    """The cast on a server that lets each caller ask five times a minute, at the beginning of a minute."""
    settings.RATE_LIMIT_PER_MINUTE = 5
    yield cast
    throttles._tally.reset()


def ask(client: Any) -> Any:
    return client.get("/api/v1/memories")


def test_each_key_and_each_user_has_its_own_minute(limited: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soat.tenancy.throttles._seconds", lambda: 1_800_000_010)
    for client in (limited.a, limited.b, limited.admin):
        answers = [ask(client) for _ in range(7)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
        assert [answer["RateLimit-Remaining"] for answer in answers] == ["4", "3", "2", "1", "0", "0", "0"]
        assert {answer["RateLimit-Limit"] for answer in answers} == {"5"}
        assert error_of(answers[-1], 429, "RATE_LIMITED")
        assert answers[-1]["Retry-After"] == answers[-1]["RateLimit-Reset"] == "50"
    monkeypatch.setattr("soat.tenancy.throttles._seconds", lambda: 1_800_000_060)
    assert ask(limited.a).status_code == 200


def test_a_key_has_a_limit_of_its_own(limited: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soat.tenancy.throttles._seconds", lambda: 1_800_000_130)
    ApiKey.objects.filter(name="key-a").update(rate_limit=2)
    ApiKey.objects.filter(name="key-b").update(rate_limit=0)
    assert [ask(limited.a).status_code for _ in range(3)] == [200, 200, 429]
    answers = [ask(limited.b) for _ in range(8)]
    assert {answer.status_code for answer in answers} == {200}
    assert "RateLimit-Limit" not in answers[0]


def test_without_a_limit_nothing_is_counted(cast: Cast) -> None:
    assert {ask(cast.a).status_code for _ in range(8)} == {200}
    assert "RateLimit-Limit" not in ask(cast.a)


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "sentinel://127.0.0.1:1"])
def test_without_the_broker_everybody_is_let_in(limited: Cast, url: str, caplog: pytest.LogCaptureFixture) -> None:
    throttles._tally.reset()
    with broker_at(url):
        assert {ask(limited.a).status_code for _ in range(7)} == {200}
    assert [record.name for record in caplog.records].count("soat.tenancy.throttles") == 1


def test_a_broker_that_hangs_holds_up_one_request_and_no_more(limited: Cast) -> None:
    throttles._tally.reset()
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, broker_at(f"redis://127.0.0.1:{silent.getsockname()[1]}/0"):
        begun = time.monotonic()
        assert {ask(limited.a).status_code for _ in range(20)} == {200}
        assert time.monotonic() - begun < 4


def test_counting_costs_no_query(limited: Cast) -> None:
    ask(limited.a)
    with CaptureQueriesContext(connection) as counted:
        assert ask(limited.a)["RateLimit-Limit"] == "5"
    ApiKey.objects.filter(name="key-a").update(rate_limit=0)
    with CaptureQueriesContext(connection) as uncounted:
        assert "RateLimit-Limit" not in ask(limited.a)
    assert len(counted) == len(uncounted)


def test_many_threads_count_each_request_once(limited: Cast) -> None:
    name = f"soat:test:{secrets.token_hex(8)}"
    counts = at_once([lambda: [throttles._tally.add(name) for _ in range(20)]] * 32)
    assert sorted(itertools.chain(*counts), key=str) == sorted(range(1, 641), key=str)
