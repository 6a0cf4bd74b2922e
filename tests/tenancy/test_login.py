"""Passwords for tokens, and tokens that end with the password."""

import base64
import json
from datetime import timedelta
from typing import Any

import jwt
import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from soat.tenancy.models import Role, User
from soat.tenancy.tokens import issue_jwt
from tests.api.answers import body_of, error_of, names_field
from tests.conftest import PASSWORD, Cast, client_with

LOGIN = "/api/v1/users/login"
ME = "/api/v1/users/me"
NEW_PASSWORD = "an-entirely-new-password"


def log_in(username: str, password: str) -> Any:
    return client_with(None).post(LOGIN, {"username": username, "password": password}, format="json")


def forged(user: User, key: str = "a-key-of-somebody-else-that-is-long-enough", **claims: Any) -> str:
    """Return a token that is made as ours are, with some claims changed (None: left out)."""
    now = timezone.now()
    ours = {"sub": user.public_id, "epoch": user.token_epoch, "iat": now, "exp": now + timedelta(hours=1), **claims}
    return jwt.encode({name: value for name, value in ours.items() if value is not None}, key, algorithm="HS256")


def test_a_login_answers_the_user_with_a_token(cast: Cast) -> None:
    answer = body_of(log_in("outsider", PASSWORD))
    token = answer.pop("token")
    assert set(answer) == {"id", "username", "role", "created_at", "updated_at"}
    assert (answer["username"], answer["role"]) == ("outsider", "user")
    assert body_of(client_with(token).get(ME)) == answer
    assert cast.outsider_user.public_id == answer["id"]


def test_a_login_by_form_is_read_too(cast: Cast) -> None:
    form = f"username=root&password={PASSWORD}"
    answer = client_with(None).post(LOGIN, form, content_type="application/x-www-form-urlencoded")
    assert "token" in body_of(answer)


def test_an_unknown_name_and_a_wrong_password_are_one_answer(cast: Cast) -> None:
    User.objects.create_user("gone", PASSWORD, is_active=False)
    User.objects.create_user("no-password", None)
    answers = [
        log_in(*credentials)
        for credentials in (
            ("root", "wrong"),
            ("nobody", PASSWORD),
            ("gone", PASSWORD),
            ("no-password", PASSWORD),
            ("ROOT", PASSWORD),
            ("root ", PASSWORD),
        )
    ]
    for answer in answers:
        error_of(answer, 401, "UNAUTHORIZED")
        assert answer["WWW-Authenticate"] == "Bearer"
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize("composed", ["andré", "andre\u0301"])
@pytest.mark.django_db
def test_a_name_is_found_in_either_spelling(composed: str) -> None:
    credentials = {"username": composed, "password": PASSWORD}
    body_of(client_with(None).post("/api/v1/users/bootstrap", credentials, format="json"), 201)
    body_of(log_in("andré", PASSWORD))
    body_of(log_in("andre\u0301", PASSWORD))


@pytest.mark.parametrize(
    ("body", "field"),
    [({"username": "root"}, "password"), ({"username": "root", "password": "a\x00"}, "password"), ({"a": 1}, "a")],
)
def test_what_does_not_fit_is_named(cast: Cast, body: dict[str, Any], field: str) -> None:
    assert names_field(client_with(None).post(LOGIN, body, format="json"), field)


def test_a_new_password_ends_the_sessions_of_the_old_one(cast: Cast) -> None:
    old = body_of(log_in("outsider", PASSWORD))["token"]
    user = User.objects.get(username="outsider")
    user.set_password(NEW_PASSWORD)
    user.save()
    error_of(client_with(old).get(ME), 401, "UNAUTHORIZED")
    error_of(log_in("outsider", PASSWORD), 401, "UNAUTHORIZED")
    body_of(client_with(body_of(log_in("outsider", NEW_PASSWORD))["token"]).get(ME))


def test_changepassword_ends_them_too(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda prompt: NEW_PASSWORD)
    call_command("changepassword", "root", verbosity=0)
    error_of(cast.admin.get(ME), 401, "UNAUTHORIZED")
    body_of(log_in("root", NEW_PASSWORD))


def test_a_login_that_renews_the_hash_gives_a_token_that_works(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = body_of(log_in("outsider", PASSWORD))["token"]
    before = User.objects.get(username="outsider").password
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", PBKDF2PasswordHasher.iterations + 1)
    token = body_of(log_in("outsider", PASSWORD))["token"]
    assert User.objects.get(username="outsider").password != before
    body_of(client_with(token).get(ME))
    body_of(client_with(earlier).get(ME))


def test_an_inactive_user_is_out_at_once(cast: Cast) -> None:
    body_of(cast.outsider.get(ME))
    User.objects.filter(pk=cast.outsider_user.pk).update(is_active=False)
    error_of(cast.outsider.get(ME), 401, "UNAUTHORIZED")


def test_a_token_is_of_its_user_as_it_is_now(cast: Cast) -> None:
    body_of(cast.admin.post("/api/v1/projects", {"name": "one"}, format="json"), 201)
    User.objects.filter(pk=cast.admin_user.pk).update(role=Role.USER, is_superuser=False)
    error_of(cast.admin.post("/api/v1/projects", {"name": "two"}, format="json"), 403, "FORBIDDEN")


def test_a_token_expires(cast: Cast, settings: Any) -> None:
    settings.JWT_TTL_SECONDS = -1
    error_of(client_with(issue_jwt(cast.admin_user)).get(ME), 401, "UNAUTHORIZED")
    settings.JWT_TTL_SECONDS = 60
    body_of(client_with(issue_jwt(cast.admin_user)).get(ME))


def segment(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_a_token_that_is_not_ours_is_refused(cast: Cast, settings: Any) -> None:
    user, ours = cast.admin_user, settings.SECRET_KEY
    good = forged(user, ours)
    header, payload, signature = good.split(".")
    body_of(client_with(good).get(ME))
    none = segment(json.dumps({"alg": "none", "typ": "JWT"}).encode())
    bad = [
        forged(user),
        forged(user, ours, exp=timezone.now() - timedelta(seconds=1)),
        forged(user, ours, exp=None),
        forged(user, ours, sub=None),
        forged(user, ours, epoch=None),
        forged(user, ours, epoch=user.token_epoch + 1),
        forged(user, ours, epoch=str(user.token_epoch)),
        forged(user, ours, epoch=10**30),
        forged(user, ours, sub="user_unknown"),
        f"{none}.{payload}.",
        f"{none}.{payload}.{signature}",
        f"{header}.{payload}.",
        f"{header}.{payload}.{signature[:-2]}AA",
        f"{header}.{segment(json.dumps({'sub': user.public_id, 'epoch': 0, 'exp': 10**12}).encode())}.{signature}",
        f"{segment(b'[' * 4_000)}.{payload}.{signature}",
        f"{segment(b'9' * 5_000)}.{payload}.{signature}",
        f"{segment(b'null')}.{payload}.{signature}",
        f"{segment(bytes(range(256)))}.{payload}.{signature}",
        f"{segment(json.dumps({'alg': ['HS256']}).encode())}.{payload}.{signature}",
        "a.b.c",
        "...",
        "garbage",
        "null",
        "a" * 8_000,
    ]
    for token in bad:
        error_of(client_with(token).get(ME), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "bearer",
        "Basic cm9vdDpyb290",
        "Token {key}",
        "{key}",
        "Bearer {key} {key}",
        "Bearer: {key}",
        "Bearer\t{key}",
        "Bearer {key}é",
        "Bearer sk_",
        "Bearer sk_\x00",
        "Bearer SK_{key}",
    ],
)
def test_a_header_that_is_not_a_bearer_s_is_refused(cast: Cast, header: str) -> None:
    answer = Client().get(ME, HTTP_AUTHORIZATION=header.format(key=cast.key_a))
    error_of(answer, 401, "UNAUTHORIZED")
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer  "])
def test_the_scheme_is_read_in_any_case(cast: Cast, scheme: str) -> None:
    body_of(Client().get(ME, HTTP_AUTHORIZATION=f"{scheme} {cast.key_a}"))


def test_me_is_the_user_behind_a_key_as_behind_a_token(cast: Cast) -> None:
    me = body_of(cast.admin.get(ME))
    assert me == body_of(cast.a.get(ME)) == body_of(cast.b.get(ME))
    assert (me["username"], me["role"]) == ("root", "admin")
    assert me["id"] == cast.admin_user.public_id
    assert body_of(cast.outsider.get(ME))["role"] == "user"
    error_of(cast.anonymous.get(ME), 401, "UNAUTHORIZED")


@pytest.mark.django_db
def test_createsuperuser_makes_an_admin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", "--noinput", "--username", "boss", verbosity=0)
    assert body_of(log_in("boss", PASSWORD))["role"] == "admin"
    client = Client()
    assert client.login(username="boss", password=PASSWORD)
    assert client.get("/admin/").status_code == 200
