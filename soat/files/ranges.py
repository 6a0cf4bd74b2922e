"""Byte ranges of a download (RFC 9110, section 14)."""

import re
from dataclasses import dataclass

_RANGE = re.compile(r"bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*", re.IGNORECASE | re.ASCII)
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The bytes from ``first`` to ``last``, both counted from 0 and both included."""

    first: int
    last: int

    @property
    def length(self) -> int:
        """Return the number of bytes."""
        return self.last - self.first + 1


class RangeUnsatisfiable(ValueError):
    """A well-formed range that holds no byte of the file."""


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """Return the one range that ``header`` asks for, None for the whole file.

    What is no single range of bytes (another unit, several ranges, nonsense) is passed over, as the RFC
    lets a server do. Raises ``RangeUnsatisfiable`` for one that begins behind the end.
    """
    match = _RANGE.fullmatch((header or "").strip())
    if match is None or not any(match.groups()) or any(len(digits) > _MAX_DIGITS for digits in match.groups()):
        return None
    first, last = match.groups()
    if not first:
        suffix = int(last)
        if suffix == 0 or size == 0:
            raise RangeUnsatisfiable
        return ByteRange(max(size - suffix, 0), size - 1)
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise RangeUnsatisfiable
    return ByteRange(int(first), min(int(last), size - 1) if last else size - 1)
