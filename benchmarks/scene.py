"""What the search is measured on: one large project, one memory as large, and fifty small projects beside."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.loading import CHUNKS_A_DOCUMENT, Loader, Place
from benchmarks.material import Material

SHARES = ("10 %", "1 %", ".1 %")
_PARTS = (10, 100, 1_000)
SMALL_PROJECTS = 50
_USUAL = 200
_SEED = 42


@dataclass(frozen=True, slots=True)
class Scene:
    """The large project's ids, and by share what lets that much of it through."""

    project: str
    memory: str
    paths: dict[str, str]
    documents: dict[str, list[str]]
    tags: dict[str, str]
    projects: dict[str, str]


def small_sizes(rows: int) -> list[int]:
    """Return how many chunks each small project has: the first three are shares of the large one."""
    return [*(max(rows // part, 1) for part in _PARTS), *[min(_USUAL, rows // 50)] * (SMALL_PROJECTS - len(_PARTS))]


def fill(loader: Loader, material: Material, rows: int, space: int, projects: Sequence[tuple[str, int]]) -> Scene:
    """Load ``rows`` chunks and entries into the first of ``projects`` (id and key), fewer into each of the others."""
    random = np.random.default_rng(_SEED)
    (large, key), *small = projects
    place = Place(key, space)
    folders = _folders(rows // CHUNKS_A_DOCUMENT)
    paths = [f"/{folder}/{number}.txt" for number, folder in enumerate(folders)]
    names = loader.documents(place, paths, material.texts, material.rows(rows, random))
    tags = [[tag for tag, part in zip(SHARES, _PARTS, strict=True) if number % part == 0] for number in range(rows)]
    memory = loader.memory(place, "all", tags, material.texts, material.rows(rows, random))
    for (_, other), size in zip(small, small_sizes(rows), strict=True):
        own = [f"/{number}.txt" for number in range(-(-size // CHUNKS_A_DOCUMENT))]
        loader.documents(Place(other, space), own, material.texts, material.rows(size, random))
    return Scene(
        project=large,
        memory=memory,
        paths={share: f"/{folder}/" for share, folder in zip(SHARES, ("ten", "one", "tenth"), strict=True)},
        documents={share: names[:: min(part, len(names))] for share, part in zip(SHARES, _PARTS, strict=True)},
        tags={share: share for share in SHARES},
        projects=dict(zip(SHARES, (name for name, _ in small), strict=False)),
    )


def _folders(documents: int) -> list[str]:
    """Return a folder for each document: ``ten``, ``one`` and ``tenth`` hold that many per cent of them."""
    sizes = {"tenth": max(documents // 1_000, 1), "one": max(documents // 100, 1), "ten": max(documents // 10, 1)}
    named = [folder for folder, size in sizes.items() for _ in range(size)]
    return named + ["rest"] * (documents - len(named))
