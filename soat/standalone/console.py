"""What the person who started the stack gets to see."""

import os
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
        try:
            self._stream.write(f"{text}\n")
            self._stream.flush()
        except BrokenPipeError:
            # The reader has gone (``| head``), which is no reason to stop the stack, nor to fail at its end.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

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
