"""The real stack on dummies for web, worker and beat: ``python -m tests.standalone.small_stack STATE [PORT]``."""

import sys
from pathlib import Path

from soat.standalone.console import Console
from soat.standalone.errors import StandaloneError
from soat.standalone.stack import Options, Stack
from soat.standalone.state import StateFolder
from soat.standalone.supervisor import Child

SERVE = """
import os, pathlib, signal, sys, time
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
"""
"""A program with a process below it that does not heed SIGTERM."""


class SmallStack(Stack):
    """PostgreSQL, broker and one dummy, started and watched as in earnest."""

    def processes(self) -> list[Child]:
        """Return the dummy, which is ready when it has written its process id."""
        mark = self._state.run / "dummy.pid"
        mark.unlink(missing_ok=True)
        return [self._child("dummy", ["-c", SERVE, str(mark)], mark.exists, ((15, 1.0),))]


def main() -> None:
    """Run it."""
    state = StateFolder(Path(sys.argv[1]))
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    options = Options(state=state, host="127.0.0.1", port=port, web_threads=1, workers=1, setup=())
    try:
        SmallStack(options, Console(sys.stdout)).run()
    except StandaloneError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
