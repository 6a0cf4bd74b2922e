"""The credentials file of a standalone server: made once, kept, readable by a shell and by its owner only."""

import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from soat.tenancy.models import ApiKey, Project, Role, User
from tests.api.answers import body_of, rows_of
from tests.conftest import PASSWORD, Cast, client_with

NAMES = {
    "SOAT_BASE_URL",
    "SOAT_ADMIN_USERNAME",
    "SOAT_ADMIN_PASSWORD",
    "SOAT_PROJECT_ID",
    "SOAT_API_KEY",
    "SOAT_TOKEN",
}
URL = "http://127.0.0.1:5047"


@pytest.fixture
def path(tmp_path: Path, settings: Any) -> Path:
    """Where the file goes; the folder has an awkward name."""
    settings.BASE_URL = URL
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    return folder / "credentials.env"


def sourced(path: Path) -> dict[str, str]:
    """Return the variables that bash has after reading the file, with ``set -u`` and nothing else set."""
    script = 'set -eua; . "$1"; env -0'
    run = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script, "bash", str(path)], env={}, capture_output=True, check=True
    )
    assert run.stderr == b""
    pairs = (entry.partition("=") for entry in run.stdout.decode().split("\0"))
    return {name: value for name, _, value in pairs if name.startswith("SOAT_")}


def bootstrap(path: Path) -> dict[str, str]:
    call_command("bootstrap_standalone", "--credentials", str(path))
    return sourced(path)


@pytest.mark.django_db
def test_the_first_start_makes_everything_and_writes_it_down(path: Path) -> None:
    values = bootstrap(path)
    assert set(values) == NAMES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert values["SOAT_BASE_URL"] == URL
    assert values["SOAT_TOKEN"] == values["SOAT_API_KEY"]
    by_key = client_with(values["SOAT_API_KEY"])
    assert [row["id"] for row in rows_of(by_key.get("/api/v1/projects"))] == [values["SOAT_PROJECT_ID"]]
    login = {"username": values["SOAT_ADMIN_USERNAME"], "password": values["SOAT_ADMIN_PASSWORD"]}
    assert body_of(client_with(None).post("/api/v1/users/login", login, format="json"))["role"] == "admin"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.django_db
def test_a_later_start_keeps_the_values_and_has_its_own_address(path: Path, settings: Any) -> None:
    first = bootstrap(path)
    settings.BASE_URL = "http://127.0.0.1:6000"
    assert bootstrap(path) == {**first, "SOAT_BASE_URL": "http://127.0.0.1:6000"}
    settings.BASE_URL = ""
    assert bootstrap(path)["SOAT_BASE_URL"] == "http://127.0.0.1:6000"
    assert (User.objects.count(), Project.objects.count(), ApiKey.objects.count()) == (1, 1, 1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "odd",
    ["it's", 'a "quote"', "$HOME `id` $(id)", "a\nb", "#no comment", "back\\slash", "two  spaces", "ünïcode", "a=b=c"],
)
@pytest.mark.django_db
def test_odd_values_survive_the_file_and_the_shell(path: Path, odd: str) -> None:
    User.objects.create_user(odd, PASSWORD, Role.ADMIN)
    first = bootstrap(path)
    assert first["SOAT_ADMIN_USERNAME"] == odd
    assert bootstrap(path) == first


def test_where_there_are_users_an_admin_gets_a_new_key(cast: Cast, path: Path) -> None:
    values = bootstrap(path)
    assert set(values) == NAMES - {"SOAT_ADMIN_PASSWORD"}
    assert "changepassword" in path.read_text()
    assert values["SOAT_ADMIN_USERNAME"] == "root"
    assert values["SOAT_PROJECT_ID"] == cast.project_a.public_id
    assert (User.objects.count(), Project.objects.count(), ApiKey.objects.count()) == (2, 2, 3)
    body_of(client_with(values["SOAT_TOKEN"]).get("/api/v1/projects"))
    assert bootstrap(path) == values


@pytest.mark.django_db
def test_a_file_that_is_older_than_the_database_is_made_anew(path: Path) -> None:
    old = bootstrap(path)
    ApiKey.objects.all().delete()
    User.objects.all().delete()
    new = bootstrap(path)
    assert set(new) == NAMES
    assert new["SOAT_API_KEY"] != old["SOAT_API_KEY"]
    assert new["SOAT_ADMIN_PASSWORD"] != old["SOAT_ADMIN_PASSWORD"]
    body_of(client_with(new["SOAT_TOKEN"]).get("/api/v1/projects"))


@pytest.mark.django_db
def test_a_revoked_key_is_replaced_and_the_password_that_is_right_stays(path: Path) -> None:
    old = bootstrap(path)
    ApiKey.objects.all().delete()
    new = bootstrap(path)
    changed = {"SOAT_API_KEY", "SOAT_TOKEN"}
    assert {name for name in NAMES if new[name] != old[name]} == changed
    ApiKey.objects.all().delete()
    admin = User.objects.get()
    admin.set_password("changed-by-its-owner")
    admin.save()
    assert "SOAT_ADMIN_PASSWORD" not in bootstrap(path)


def test_an_inactive_admin_gets_no_key(cast: Cast, path: Path) -> None:
    User.objects.create_user("second", PASSWORD, Role.ADMIN)
    User.objects.filter(username="root").update(is_active=False)
    assert bootstrap(path)["SOAT_ADMIN_USERNAME"] == "second"


@pytest.mark.django_db
def test_without_an_active_admin_it_says_what_to_do(path: Path) -> None:
    User.objects.create_user("outsider", PASSWORD)
    with pytest.raises(CommandError, match="createsuperuser"):
        bootstrap(path)
    assert not path.exists()
    assert not ApiKey.objects.exists()


@pytest.mark.django_db
def test_a_file_that_cannot_be_read_is_named_and_left_alone(path: Path) -> None:
    path.write_text("SOAT_API_KEY='half a")
    with pytest.raises(CommandError, match=r"credentials\.env"):
        bootstrap(path)
    assert path.read_text() == "SOAT_API_KEY='half a"
    assert not User.objects.exists()
