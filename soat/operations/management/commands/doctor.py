"""Say in plain words what is wrong with this deployment."""

import logging
import sys
from typing import Any

from django.core.management.base import BaseCommand

from soat.operations.doctor.examination import examine
from soat.operations.doctor.findings import Finding, Level


class Command(BaseCommand):
    """``manage.py doctor``: run it where the server runs, with the server's own environment."""

    help = "Look at everything that the server needs, say what is wrong and what mends it; the status is then 1."
    requires_system_checks: list[str] = []  # noqa: RUF012  (declared so by Django)
    requires_migrations_checks = False

    def handle(self, *args: Any, **options: Any) -> None:
        """Show each finding as it is made."""
        logging.disable(logging.CRITICAL)  # what goes wrong is said once, in words
        try:
            findings = []
            for finding in examine():
                self._show(finding)
                findings.append(finding)
        finally:
            logging.disable(logging.NOTSET)
        wrong = sum(finding.level is Level.WRONG for finding in findings)
        self.stdout.write(f"\n{wrong} things are wrong." if wrong else "\nNothing is wrong.")
        if wrong:
            sys.exit(1)

    def _show(self, finding: Finding) -> None:
        styles = {Level.OK: self.style.SUCCESS, Level.NOTE: self.style.WARNING, Level.WRONG: self.style.ERROR}
        word = finding.level.upper() if finding.level is Level.WRONG else finding.level
        self.stdout.write(f"{styles[finding.level](f'{word:<6}')} {finding.part}: {finding.what}")
        if finding.why:
            self.stdout.write(f"       Why it matters: {finding.why}")
            self.stdout.write(f"       What mends it: {finding.mend}")
