"""The metrics that processes count by themselves, added up over all processes of this machine.

With ``METRICS_DIR`` every process of web server and workers keeps its numbers in files of that folder,
named by its process id (the multiprocess mode of ``prometheus_client``, chosen in the settings). The
folder must not be shared between machines or containers: their process ids are the same.
"""

import contextlib
import fcntl
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest, values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

_OF_THE_DEAD = 0
"""Stands for a process id in the name of the files that hold what ended processes have counted."""


def make_folder() -> None:
    """Make the folder of the metrics where one is set. Raises ``ImproperlyConfigured``."""
    if settings.METRICS_DIR is None:
        return
    try:
        settings.METRICS_DIR.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"METRICS_DIR cannot be used: {error}.") from None
    if values.ValueClass is values.MutexValue:
        raise ImproperlyConfigured("prometheus_client was imported before the settings: it does not know METRICS_DIR.")


def exposition() -> bytes:
    """Return the numbers in Prometheus' text format: of all processes, without a folder of this one only."""
    if settings.METRICS_DIR is None:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(settings.METRICS_DIR))  # type: ignore[no-untyped-call]
    with _alone(settings.METRICS_DIR):
        return generate_latest(registry)


def fold_ended_processes() -> None:
    """Add what ended processes have counted to one file each kind, and remove theirs.

    So a total never goes down while any process of the server lives, and the folder stays small however
    often processes are replaced. When nobody lives the counting starts from zero.
    """
    folder: Path | None = settings.METRICS_DIR
    if folder is None:
        return
    with _alone(folder):
        files = sorted(folder.glob("*_*.db"))
        ended = [file for file in files if not _lives(_process_of(file))]
        if len(ended) < len(files):
            for kind in {_kind_of(file) for file in ended}:
                _fold([file for file in ended if _kind_of(file) == kind], into=folder / f"{kind}_{_OF_THE_DEAD}.db")
        else:
            for file in ended:
                file.unlink()


def _fold(files: list[Path], *, into: Path) -> None:
    if files == [into]:
        return
    totals: dict[str, float] = defaultdict(float)
    for file in files:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
            totals[key] += value
    draft = into.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    folded = MmapedDict(str(draft))  # type: ignore[no-untyped-call]
    for key, value in totals.items():
        folded.write_value(key, value, 0.0)  # type: ignore[no-untyped-call]
    folded.close()  # type: ignore[no-untyped-call]
    for file in files:
        file.unlink()
    draft.replace(into)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from folding or reading meanwhile."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _kind_of(file: Path) -> str:
    return file.stem.rpartition("_")[0]


def _process_of(file: Path) -> int:
    return int(file.stem.rpartition("_")[2])


def _lives(process: int) -> bool:
    if process == _OF_THE_DEAD:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
