"""Stop what a killed supervisor leaves behind.

A small process of its own (``python -m soat.standalone.watchdog``) that reads from a pipe whose other
end only the supervisor holds. The lines on it say what is running; its end says that the supervisor
is gone, however it went, and whatever is still on the list is stopped then.
"""

import json
import os
import shutil
import signal
import sys
from typing import IO

from soat.standalone.programs import Running, stop_all


def watch(lines: IO[str]) -> None:
    """Follow the supervisor's messages to their end, then stop and remove what it did not.

    Messages are objects with one key: ``track`` (a program as ``Running.to_json``), ``forget`` (its
    process id) and ``remove`` (a folder that must not outlive the run).
    """
    running: dict[int, Running] = {}
    folders: list[str] = []
    for line in lines:
        if not line.endswith("\n"):
            break  # the supervisor died in the middle of a message
        message = json.loads(line)
        if "track" in message:
            program = Running.from_json(message["track"])
            running[program.pid] = program
        elif "forget" in message:
            running.pop(message["forget"], None)
        elif "remove" in message:
            folders.append(message["remove"])
    stop_all(running.values())
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Run the watchdog on standard input."""
    os.chdir("/")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watch(sys.stdin)


if __name__ == "__main__":
    main()
