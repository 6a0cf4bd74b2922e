"""Creating and changing users, projects and API keys."""

import functools
from collections.abc import Mapping
from typing import Any

from django.contrib.auth import password_validation
from django.contrib.auth.hashers import check_password, make_password
from django.core.exceptions import ValidationError as PasswordRefused
from django.db import IntegrityError, connection, transaction
from django.db.models import PROTECT, ProtectedError, QuerySet
from django.utils import timezone

from soat.core.errors import Conflict, NotFound, Unauthorized, ValidationFailed
from soat.tenancy.access import Caller
from soat.tenancy.models import ApiKey, Project, Role, User
from soat.tenancy.tokens import KEY_PREFIX_SHOWN, hash_api_key, issue_jwt, new_api_key

_BOOTSTRAP_LOCK = 0x50A7_B007


@functools.cache
def _dummy_hash() -> str:
    return make_password("a password that nobody has")


def bootstrap_user(*, username: str, password: str) -> User:
    """Create the first admin. Raises ``Conflict`` when there is any user already."""
    _check_password(password)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_BOOTSTRAP_LOCK])
        if User.objects.exists():
            raise Conflict("There are users already.", code="BOOTSTRAP_ALREADY_COMPLETED")
        return User.objects.create_user(username, password, Role.ADMIN)


def log_in(*, username: str, password: str) -> tuple[User, str]:
    """Return the user and a fresh JWT.

    Raises ``Unauthorized``; an unknown name costs as much time as a wrong password.
    """
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        check_password(password, _dummy_hash())
        raise Unauthorized("The username or the password is wrong.")
    if not user.check_password(password):
        raise Unauthorized("The username or the password is wrong.")
    return user, issue_jwt(user)


def create_project(*, name: str) -> Project:
    """Create a project."""
    return Project.objects.create(name=name)


def update_project(*, project: Project, changes: Mapping[str, Any]) -> Project:
    """Rename a project."""
    if changes:
        project.name = changes["name"]
        project.updated_at = timezone.now()
        project.save(update_fields=["name", "updated_at"])
    return project


def project_contents(project: Project) -> list[str]:
    """Return what still stands in a project and keeps it, such as ``memories``."""
    return [
        str(relation.related_model._meta.verbose_name_plural)  # noqa: SLF001  (Django's own public name)
        for relation in Project._meta.related_objects  # noqa: SLF001
        if relation.on_delete is PROTECT
        and relation.related_model._base_manager.filter(**{relation.field.name: project}).exists()  # noqa: SLF001
    ]


def delete_project(*, project: Project) -> None:
    """Delete an empty project with the keys that are bound to it. Raises ``Conflict`` while something stands in it."""
    contents = project_contents(project)
    try:
        if not contents:
            project.delete()
            return
    except (ProtectedError, IntegrityError):
        contents = project_contents(project)
    raise Conflict(
        f"The project is not empty, delete its {' and '.join(contents)} first.", code="PROJECT_HAS_DEPENDENTS"
    )


def assign_role(user: User, role: str) -> None:
    """Set a user's role and what follows from it; the caller saves."""
    user.role = role
    user.is_superuser = role == Role.ADMIN
    user.updated_at = timezone.now()


def create_api_key(*, user_id: int, name: str, project: Project | None) -> tuple[ApiKey, str]:
    """Create a key and return it with its secret, which is not stored and cannot be shown again."""
    secret = new_api_key()
    key = ApiKey.objects.create(
        user_id=user_id,
        project=project,
        name=name,
        key_prefix=secret[:KEY_PREFIX_SHOWN],
        key_hash=hash_api_key(secret),
    )
    return key, secret


def update_api_key(*, key: ApiKey, changes: Mapping[str, Any]) -> ApiKey:
    """Rename a key or bind it to another project (``project`` None: to none)."""
    for field, value in changes.items():
        setattr(key, field, value)
    if changes:
        key.updated_at = timezone.now()
        key.save(update_fields=[*changes, "updated_at"])
    return key


def visible_api_keys(caller: Caller) -> QuerySet[ApiKey]:
    """Return the caller's own keys (for an admin all), through a bound key only those of its project."""
    keys = ApiKey.objects.select_related("user", "project").order_by("-created_at", "-id")
    if not caller.is_admin:
        keys = keys.filter(user_id=caller.user_id)
    return keys.filter(project_id=caller.project_id) if caller.project_id is not None else keys


def visible_api_key(*, caller: Caller, public_id: str) -> ApiKey:
    """Return one of ``visible_api_keys``. Raises ``NotFound``."""
    key = visible_api_keys(caller).filter(public_id=public_id).first()
    if key is None:
        raise NotFound("There is no such API key.")
    return key


def _check_password(password: str) -> None:
    try:
        password_validation.validate_password(password)
    except PasswordRefused as error:
        message = " ".join(error.messages)
        raise ValidationFailed(f"password: {message}", meta={"fields": {"password": message}}) from None
