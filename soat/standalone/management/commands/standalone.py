"""Run SOAT with all it needs on one machine: PostgreSQL, broker, web, worker and beat."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from soat.standalone.console import Console
from soat.standalone.errors import StandaloneError
from soat.standalone.stack import PROJECT, Options, Stack
from soat.standalone.state import StateFolder

DEFAULT_PORT = 5047


class Command(BaseCommand):
    """Supervise the stack. Touches neither database nor broker itself."""

    help = "Run PostgreSQL, broker, web server, worker and beat, and keep them running until Ctrl-C."
    requires_system_checks: list[str] = []  # noqa: RUF012  (declared so by Django)
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument(
            "--port",
            type=int,
            default=DEFAULT_PORT,
            help="port to listen on, 0: any (default: %(default)s)",
        )
        parser.add_argument(
            "--state-dir",
            type=Path,
            default=Path(os.environ.get("SOAT_STATE_DIR") or PROJECT / "var"),
            help="folder for all that lasts (default: SOAT_STATE_DIR, else var/ in the project)",
        )
        parser.add_argument("--web-threads", type=int, default=16, help="requests at a time (default: %(default)s)")
        parser.add_argument("--workers", type=int, default=2, help="tasks at a time (default: %(default)s)")
        parser.add_argument("--no-bootstrap", action="store_true", help="make no admin, project and key on first start")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run until stopped; what keeps it from running is shown without a traceback."""
        state = StateFolder(options["state_dir"].expanduser().absolute())
        chosen = Options(
            state=state,
            host=options["host"],
            port=options["port"],
            web_threads=options["web_threads"],
            workers=options["workers"],
            setup=["standalone_setup", *(() if options["no_bootstrap"] else ("--credentials", str(state.credentials)))],
        )
        console = Console(sys.stdout)
        console.note(f"SOAT standalone, state in {state.root}")
        try:
            Stack(chosen, console).run()
        except StandaloneError as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:  # while the last run is still being cleared away
            raise CommandError("interrupted", returncode=130) from None
