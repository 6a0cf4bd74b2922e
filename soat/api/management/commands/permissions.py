"""Write the table of operations and their policy actions."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from soat.api.permissions import as_markdown, permission_table

BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"


class Command(BaseCommand):
    """``manage.py permissions FILE``: replaces the table between the two marks of a Markdown file."""

    help = "Write which policy action guards which operation into a Markdown file."
    requires_system_checks: list[str] = []  # noqa: RUF012  (declared so by Django)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file, and where to write if not there."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--output", type=Path, help="write here instead of into the file itself")

    def handle(self, *args: Any, file: Path, output: Path | None, **options: Any) -> None:
        """Write the file. Raises ``CommandError`` for one without the marks."""
        text = file.read_text(encoding="utf-8")
        before, begin, rest = text.partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise CommandError(f"{file} has no place for the table: {BEGIN.strip()} … {END.strip()}")
        table = as_markdown(permission_table())
        (output or file).write_text(f"{before}{BEGIN}{table}{END}{after}", encoding="utf-8")
