"""Take the words of stored texts anew."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from soat.core.errors import ServiceUnavailable
from soat.tenancy.lexeme_refresh import count_texts, refresh_batch, request_refreshes
from soat.tenancy.models import Project

PAUSE_SECONDS = 0.5
SECONDS_PER_LINE = 2.0


class Command(BaseCommand):
    """``manage.py refresh_lexemes``: it can be repeated; what it leaves when it is interrupted a worker does."""

    help = "Take the words of all stored texts anew, as the text-search configuration of each project says now."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument("--project", metavar="ID", help="only of this project (proj_…)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Go through the projects one after the other."""
        projects = Project.objects.filter(deleting_at=None).order_by("pk")
        if options["project"]:
            projects = projects.filter(public_id=options["project"])
        chosen = list(projects)
        if options["project"] and not chosen:
            raise CommandError(f"There is no project {options['project']}.")
        request_refreshes([project.pk for project in chosen])
        for project in chosen:
            self._refresh(project)

    def _refresh(self, project: Project) -> None:
        total = count_texts(project.pk)
        done, told = 0, time.monotonic()
        while (rows := _next_batch(project.pk)) is not None:
            done += rows
            if time.monotonic() - told >= SECONDS_PER_LINE:
                self.stdout.write(f"{project.public_id}: {done:,} of {total:,} texts")
                told = time.monotonic()
        self.stdout.write(f"{project.public_id}: done, {total:,} texts")


def _next_batch(project_id: int) -> int | None:
    try:
        return refresh_batch(project_id)
    except ServiceUnavailable:
        time.sleep(PAUSE_SECONDS)
        return 0
