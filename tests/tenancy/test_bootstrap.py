"""The first admin: made once, whoever asks and how often."""

import threading
from typing import Any

import pytest
from django.db import connections

from soat.tenancy.models import Role, User
from tests.api.answers import body_of, error_of, names_field
from tests.conftest import PASSWORD, Cast, client_with

PATH = "/api/v1/users/bootstrap"
FIRST = {"username": "admin", "password": PASSWORD}


@pytest.mark.django_db
def test_the_first_user_is_an_admin_who_can_log_in() -> None:
    record = body_of(client_with(None).post(PATH, FIRST, format="json"), 201)
    assert set(record) == {"id", "username", "role", "created_at", "updated_at"}
    assert (record["username"], record["role"]) == ("admin", "admin")
    user = User.objects.get()
    assert (user.is_superuser, user.is_staff, user.is_active) == (True, True, True)
    assert user.password.startswith("pbkdf2_sha256$")
    answer = body_of(client_with(None).post("/api/v1/users/login", FIRST, format="json"))
    me = body_of(client_with(answer["token"]).get("/api/v1/users/me"))
    assert me == record


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.django_db
def test_with_any_user_there_it_is_over(role: Role) -> None:
    User.objects.create_user("somebody", None, role, is_active=False)
    answer = client_with(None).post(PATH, FIRST, format="json")
    error_of(answer, 409, "BOOTSTRAP_ALREADY_COMPLETED")
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["username", "password"]),
        ({"username": "admin"}, ["password"]),
        ({"username": "", "password": None}, ["username", "password"]),
        ({"username": 5, "password": PASSWORD}, ["username"]),
        ({"username": "a" * 151, "password": PASSWORD}, ["username"]),
        ({"username": "a\x00", "password": PASSWORD}, ["username"]),
        ({"username": " ", "password": PASSWORD}, ["username"]),
        ({"username": "admin", "password": "short"}, ["password"]),
        ({"username": "admin", "password": "password123"}, ["password"]),
        ({"username": "admin", "password": "p" * 1_001}, ["password"]),
        ({"username": "admin", "password": ["list"]}, ["password"]),
        ({**FIRST, "role": "admin"}, ["role"]),
    ],
)
@pytest.mark.django_db
def test_what_does_not_fit_is_named(body: dict[str, Any], fields: list[str]) -> None:
    answer = client_with(None).post(PATH, body, format="json")
    assert all(names_field(answer, field) for field in fields)
    assert not User.objects.exists()


@pytest.mark.django_db
def test_a_password_is_never_quoted() -> None:
    answer = client_with(None).post(PATH, {"username": "admin", "password": "hunter2"}, format="json")
    assert "hunter2" not in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_of_twenty_at_once_one_is_the_first() -> None:
    barrier = threading.Barrier(20, timeout=30)
    statuses: list[int] = []

    def bootstrap(number: int) -> None:
        try:
            barrier.wait()
            body = {"username": f"admin-{number}", "password": PASSWORD}
            statuses.append(client_with(None).post(PATH, body, format="json").status_code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=bootstrap, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] + [409] * 19
    assert User.objects.count() == 1


def test_a_credential_does_not_matter(cast: Cast) -> None:
    for client in (cast.admin, cast.a, client_with("garbage")):
        error_of(client.post(PATH, FIRST, format="json"), 409, "BOOTSTRAP_ALREADY_COMPLETED")
