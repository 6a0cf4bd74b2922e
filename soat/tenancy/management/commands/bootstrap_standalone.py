"""Make the first admin, project and key of a standalone server, and write them down."""

import os
import secrets
import shlex
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import QuerySet

from soat.core.errors import Conflict
from soat.tenancy.keys import create_api_key
from soat.tenancy.models import ApiKey, Project, Role, User
from soat.tenancy.projects import create_project
from soat.tenancy.services import bootstrap_user
from soat.tenancy.tokens import hash_api_key

USERNAME = "admin"
PROJECT_NAME = "Default"
KEY_NAME = "standalone"
PASSWORD_CHANGED = "# SOAT_ADMIN_PASSWORD was set earlier; `manage.py changepassword` gives a new one."  # noqa: S105


class Command(BaseCommand):
    """``manage.py bootstrap_standalone --credentials FILE``: can be repeated; an existing file keeps its values."""

    help = "Create an admin, a project and an API key where there is no user yet, and write them to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the path of the file."""
        parser.add_argument("--credentials", type=Path, required=True)

    def handle(self, *args: Any, credentials: Path, **options: Any) -> None:
        """Write the file anew, with the base URL of this start."""
        known = _read(credentials)
        values = known if _opens(known.get("SOAT_API_KEY")) else _made_anew(known)
        values["SOAT_BASE_URL"] = settings.BASE_URL or known.get("SOAT_BASE_URL", "")
        _write(credentials, values)


def _opens(key: str | None) -> bool:
    """Tell whether this database knows the key: the file may be older than the database."""
    return key is not None and ApiKey.objects.filter(key_hash=hash_api_key(key), user__is_active=True).exists()


def _made_anew(known: dict[str, str]) -> dict[str, str]:
    """Return fresh credentials, with the password that the file has if it still opens that admin."""
    made = _make()
    password = known.get("SOAT_ADMIN_PASSWORD", "")
    admin = _admins().filter(username=made["SOAT_ADMIN_USERNAME"]).first()
    is_right = admin is not None and admin.check_password(password)
    return {"SOAT_ADMIN_PASSWORD": password, **made} if is_right else made


def _admins() -> QuerySet[User]:
    return User.objects.filter(role=Role.ADMIN, is_active=True).order_by("id")


def _make() -> dict[str, str]:
    """Return fresh credentials; where there are users already, a new key of an admin that exists."""
    password = None
    with transaction.atomic():
        admin = _admins().first()
        if admin is None:
            password = secrets.token_urlsafe(18)
            admin = _first_admin(password)
        project = Project.objects.order_by("id").first() or create_project(name=PROJECT_NAME)
        _, key = create_api_key(user_id=admin.pk, name=KEY_NAME, project=project)
    values = {"SOAT_ADMIN_USERNAME": admin.username}
    if password is not None:
        values["SOAT_ADMIN_PASSWORD"] = password
    return {**values, "SOAT_PROJECT_ID": project.public_id, "SOAT_API_KEY": key, "SOAT_TOKEN": key}


def _first_admin(password: str) -> User:
    try:
        return bootstrap_user(username=USERNAME, password=password)
    except Conflict:
        raise CommandError(
            "There are users, but no active admin to make a key for: `manage.py createsuperuser` makes one."
        ) from None


def _read(path: Path) -> dict[str, str]:
    """Return the values of a file that a shell would read; no file has none."""
    if not path.exists():
        return {}
    try:
        words = shlex.split(path.read_text(encoding="utf-8"), comments=True)
    except ValueError as error:
        raise CommandError(f"{path} cannot be read ({error}): repair it or remove it.") from None
    return {name: value for name, equals, value in (word.partition("=") for word in words) if equals}


def _write(path: Path, values: dict[str, str]) -> None:
    """Replace the file in one step, readable by its owner only."""
    lines = [f"{name}={shlex.quote(values[name])}" for name in sorted(values)]
    if "SOAT_ADMIN_PASSWORD" not in values:
        lines.append(PASSWORD_CHANGED)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    Path(temporary).replace(path)
