"""A fixed cast of callers, and the small things that most tests need."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from rest_framework.test import APIClient

from soat.celery import app
from soat.tenancy.keys import create_api_key
from soat.tenancy.models import Project, Role, User
from soat.tenancy.projects import create_project
from soat.tenancy.tokens import issue_jwt

PASSWORD = "correct-horse-battery"


def client_with(token: str | None) -> APIClient:
    """Return a client that sends ``token``; errors in views become answers, as on a server."""
    client = APIClient(raise_request_exception=False)
    if token is not None:
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


@dataclass(frozen=True)
class Cast:
    """Two projects, a key bound to each, an admin, and an outsider to whom nothing is granted."""

    project_a: Project
    project_b: Project
    admin_user: User
    outsider_user: User
    a: APIClient
    b: APIClient
    admin: APIClient
    outsider: APIClient
    anonymous: APIClient
    key_a: str
    key_b: str


@functools.cache
def _password_hash() -> str:
    """Hash the password once a session: a slow hash in every test would be most of the test's time."""
    return make_password(PASSWORD)


def _make_user(username: str, role: Role) -> User:
    user = User.objects.create_user(username, None, role)
    user.password = _password_hash()
    user.save(update_fields=["password"])
    return user


def make_cast() -> Cast:
    """Create the cast in the current database."""
    admin = _make_user("root", Role.ADMIN)
    outsider = _make_user("outsider", Role.USER)
    project_a, project_b = create_project(name="Project A"), create_project(name="Project B")
    _, key_a = create_api_key(user_id=admin.pk, name="key-a", project=project_a)
    _, key_b = create_api_key(user_id=admin.pk, name="key-b", project=project_b)
    return Cast(
        project_a=project_a,
        project_b=project_b,
        admin_user=admin,
        outsider_user=outsider,
        a=client_with(key_a),
        b=client_with(key_b),
        admin=client_with(issue_jwt(admin)),
        outsider=client_with(issue_jwt(outsider)),
        anonymous=client_with(None),
        key_a=key_a,
        key_b=key_b,
    )


@pytest.fixture
def cast(db: None) -> Cast:
    """The cast, in a test that is rolled back."""
    return make_cast()


@pytest.fixture
def committed_cast(transactional_db: None) -> Cast:
    """The cast, in a test that commits: for threads, and for what happens on commit."""
    return make_cast()


@pytest.fixture
def eager_tasks() -> Iterator[None]:
    """Run tasks where they are published, in this process."""
    app.conf.task_always_eager = True
    yield
    app.conf.task_always_eager = False


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> None:
    """Register the vector space of the test database and build its indexes."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        call_command("prepare_space", verbosity=0)
