"""Show what SOAT does: start everything, store a document and some facts, ask questions, stop everything."""

import logging
import os
import signal
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management import BaseCommand, CommandError

from soat.standalone.demo.errors import DemoError
from soat.standalone.demo.script import read_script
from soat.standalone.demo.server import PROJECT, running_server
from soat.standalone.demo.story import Story
from soat.standalone.demo.terminal import Style, Terminal
from soat.standalone.errors import StandaloneError
from soat.standalone.state import StateFolder


class Command(BaseCommand):
    """Tell the story against a server of its own. Touches neither database nor broker itself."""

    help = "Start a server of its own, have it store a document and some facts, ask it questions, and stop it."
    requires_system_checks: list[str] = []  # noqa: RUF012  (declared so by Django)
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--state-dir",
            type=Path,
            default=Path(os.environ.get("SOAT_STATE_DIR") or PROJECT / "var") / "demo",
            help="folder for the demo's own data (default: demo/ in SOAT_STATE_DIR, else var/demo in the project)",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run it; whatever goes wrong is said in a sentence, and nothing goes on running."""
        logging.getLogger("httpx").setLevel(logging.WARNING)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _end)
        state = StateFolder(options["state_dir"].expanduser().absolute())
        terminal = Terminal(sys.stdout, os.environ)
        try:
            _run(state, terminal)
        except (DemoError, StandaloneError) as error:
            terminal.write()
            logs = state.log("*").parent
            raise CommandError(f"{error}\nThe logs are in {logs}." if logs.is_dir() else str(error)) from None
        except KeyboardInterrupt:
            terminal.write()
            terminal.write("Stopped before the end; nothing goes on running.")
            sys.exit(128 + signal.SIGINT)


def _run(state: StateFolder, terminal: Terminal) -> None:
    begun = time.monotonic()
    story = Story(read_script(PROJECT / "docs" / "sample"), terminal)
    terminal.write("SOAT: a document and some facts go in, the right passage comes out.", Style.BOLD)
    startup = _Startup(terminal)
    with running_server(state, part=startup.part, note=startup.note) as server:
        startup.end_line()
        story.tell(server)
    if story.surprises:
        raise DemoError("Not all was as expected:\n" + "\n".join(f"- {surprise}" for surprise in story.surprises))
    _say_goodbye(state, terminal, time.monotonic() - begun)


class _Startup:
    """A line that grows with the parts of the server that come up; whatever else there is to say has its own."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._begun = False

    def part(self, name: str, seconds: str) -> None:
        self._terminal.piece(f"{', ' if self._begun else '   started: '}{name} {seconds} s")
        self._begun = True

    def note(self, text: str) -> None:
        self.end_line()
        self._terminal.write(f"   {text}", Style.DIM)

    def end_line(self) -> None:
        if self._begun:
            self._terminal.write()
        self._begun = False


def _say_goodbye(state: StateFolder, terminal: Terminal, seconds: float) -> None:
    terminal.heading(f"All as expected, in {seconds:.1f} s; everything that was started has been stopped.")
    for what, why in (
        ("make run", "runs the same server for you, at http://127.0.0.1:5047"),
        ("README.md", "has the calls above as curl lines to paste, and the settings"),
        ("/api/v1/openapi.json", "on the running server describes every call"),
        (_shown(state.root), "holds this demo's data and logs, and can be removed"),
    ):
        terminal.write(f"   {what:<22} {why}")


def _shown(path: Path) -> str:
    return str(path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path)


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
