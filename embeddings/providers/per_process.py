"""A resource that must be made anew in every process: sessions, pools, sockets."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_inherited: list[object] = []
"""Resources of a parent process. Never closed here: their threads stayed behind, their sockets are the parent's."""

_holders: weakref.WeakSet[PerProcess[Any]] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class _Made(Generic[T]):
    resource: T


class PerProcess(Generic[T]):
    """Makes a resource at its first use in this process, once, whatever the number of threads."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: _Made[T] | None = None
        _holders.add(self)

    def get(self) -> T:
        """Return this process's resource. What ``make`` raises is raised here, and the next call tries again."""
        made = self._made
        if made is None:
            with self._lock:
                made = self._made
                if made is None:
                    made = self._made = _Made(self._make())
        return made.resource

    def release(self) -> T | None:
        """Give up this process's resource, for the caller to close; None if there is none.

        A later use makes another.
        """
        with self._lock:
            made, self._made = self._made, None
        return made.resource if made else None

    def leave_to_parent(self) -> None:
        """Forget what was inherited through a fork, and a lock that another thread may have held meanwhile."""
        if self._made is not None:
            _inherited.append(self._made.resource)
        self._lock = threading.Lock()
        self._made = None


def _after_fork() -> None:
    for holder in list(_holders):
        holder.leave_to_parent()


os.register_at_fork(after_in_child=_after_fork)
