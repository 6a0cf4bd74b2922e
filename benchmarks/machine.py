"""What a measurement ran on."""

import os
import platform
from pathlib import Path


def machine() -> str:
    """Return processor, cores, memory, load and versions in a line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    load = os.getloadavg()[0]
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, load {load:.1f} at the start,"
        f" {platform.system()}, Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def cpu_seconds() -> float | None:
    """Return the CPU time of this process and of all that it started, their children too; None without /proc."""
    times: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name, in parentheses, may hold anything; what follows it has a fixed order.
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        times[int(stat.parent.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in times.items() if parent in ours} - ours:
        ours |= more
    return sum(seconds for pid, (_, seconds) in times.items() if pid in ours) if times else None
