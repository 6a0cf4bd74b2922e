"""What the person who started the stack gets to see."""

import contextlib
import time
from pathlib import Path
from typing import TextIO


class Console:
    """Print short lines, each at once, and never fail because nobody reads them any more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = time.monotonic()

    def note(self, text: str) -> None:
        """Print a sentence."""
        # A pipe whose reader has gone (``| head``) is no reason to stop the stack.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def report(self, name: str, what: str) -> None:
        """Print what became of a part."""
        self.note(f"  {name:<11}  {what}")

    def ready(self, base_url: str, state: Path, credentials: Path) -> None:
        """Print where everything is."""
        self.note(f"SOAT is ready at {base_url} after {time.monotonic() - self._begun:.1f} s")
        if credentials.exists():
            self.note(f"  credentials  {credentials}")
        self.note(f"  logs         {state / 'logs'}")
        self.note("  stop         Ctrl-C")
