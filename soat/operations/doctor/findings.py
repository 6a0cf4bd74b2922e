"""What the doctor says."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is. Only ``wrong`` makes the command fail."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one part; unless all is well also why it matters, and what mends it."""

    level: Level
    part: str
    what: str
    why: str = ""
    mend: str = ""


def fine(part: str, what: str) -> Finding:
    """Return what is as it should be."""
    return Finding(Level.OK, part, what)


def note(part: str, what: str, *, why: str, mend: str) -> Finding:
    """Return what may be meant to be so."""
    return Finding(Level.NOTE, part, what, why, mend)


def wrong(part: str, what: str, *, why: str, mend: str) -> Finding:
    """Return what has to be mended."""
    return Finding(Level.WRONG, part, what, why, mend)
