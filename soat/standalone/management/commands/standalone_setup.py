"""Bring the database of the embedded stack up to date, and make what the first start needs."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandParser, call_command


class Command(BaseCommand):
    """Run by ``standalone`` before the web server; one process, because loading Django is most of the time."""

    help = (
        "Migrate the database, prepare the vector space and, with --credentials, make the first admin, project and key."
    )
    requires_system_checks: list[str] = []  # noqa: RUF012  (declared so by Django)

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--credentials", type=Path, help="where to write them; without it nobody is made")

    def handle(self, *_args: Any, credentials: Path | None, **_options: Any) -> None:
        """Do it; each step does nothing where it was done before."""
        call_command("migrate", interactive=False)
        call_command("prepare_space")
        if credentials is not None:
            call_command("bootstrap_standalone", "--credentials", str(credentials))
