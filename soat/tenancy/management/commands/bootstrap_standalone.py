"""Make the first admin, project and key of a standalone server, and write them down."""

import os
import secrets
import shlex
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from soat.tenancy.models import Project, Role, User
from soat.tenancy.services import bootstrap_user, create_api_key, create_project

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
        values = known if "SOAT_API_KEY" in known else _make()
        values["SOAT_BASE_URL"] = settings.BASE_URL
        _write(credentials, values)


def _make() -> dict[str, str]:
    """Return fresh credentials; where there are users already, a new key of an admin that exists."""
    password = None
    with transaction.atomic():
        admin = User.objects.filter(role=Role.ADMIN).order_by("id").first()
        if admin is None:
            password = secrets.token_urlsafe(18)
            admin = bootstrap_user(username=USERNAME, password=password)
        project = Project.objects.order_by("id").first() or create_project(name=PROJECT_NAME)
        _, key = create_api_key(user_id=admin.pk, name=KEY_NAME, project=project)
    values = {"SOAT_ADMIN_USERNAME": admin.username}
    if password is not None:
        values["SOAT_ADMIN_PASSWORD"] = password
    return {**values, "SOAT_PROJECT_ID": project.public_id, "SOAT_API_KEY": key, "SOAT_TOKEN": key}


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    lines = [line for line in path.read_text().splitlines() if "=" in line and not line.startswith("#")]
    pairs = (line.partition("=") for line in lines)
    return {name: "".join(shlex.split(value)) for name, _, value in pairs}


def _write(path: Path, values: dict[str, str]) -> None:
    """Replace the file in one step, readable by its owner only."""
    lines = [f"{name}={shlex.quote(values[name])}" for name in sorted(values)]
    if "SOAT_ADMIN_PASSWORD" not in values:
        lines.append(PASSWORD_CHANGED)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    Path(temporary).replace(path)
