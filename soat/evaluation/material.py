"""What an evaluation set is made of: things to store, and questions with what should be found."""

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from soat.engine.chunk import ChunkRequest
from soat.engine.metrics import Span


class SetProblem(Exception):
    """A set that cannot be had: its data are missing, or say something that does not fit together."""


class Half(StrEnum):
    """Which questions are asked: those to tune on, those to report, or all."""

    TUNE = "tune"
    REPORT = "report"
    ALL = "all"


class Act(StrEnum):
    """What is done with a fact: written through the funnel, or the new text of an earlier one, or its end."""

    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Passage:
    """A plain text that becomes a document; ``path`` is unique in its set."""

    key: str
    path: str
    text: str
    title: str | None = None
    chunking: ChunkRequest = field(default_factory=ChunkRequest)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is uploaded and ingested as a worker does it."""

    key: str
    file: Path
    chunking: ChunkRequest = field(default_factory=ChunkRequest)


@dataclass(frozen=True, slots=True)
class Fact:
    """A step in the life of a memory, in the order of the list; ``of`` is the fact that is edited or deleted.

    The key of an edited fact names the entry from then on, and the key of the old text nothing any more.
    """

    key: str
    memory: str
    text: str = ""
    act: Act = Act.WRITE
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place where an answer stands: a whole source, or in its text a quote or a span of characters."""

    source: str
    quote: str | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question. Without ``evidence`` there is no answer to be found.

    ``stale`` are facts that were true once and must not come before the answer. ``memories`` are searched
    beside the documents; ``folders`` narrow these to paths.
    """

    key: str
    kind: str
    text: str
    evidence: tuple[Evidence, ...]
    memories: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A named collection. With ``by_character`` every character of the evidence counts for itself.

    ``text_search_config`` is the project's, by the language of the set. Facts are made as old as if so many days
    lay between each and the next one of its memory.
    """

    name: str
    questions: tuple[Question, ...]
    passages: tuple[Passage, ...] = ()
    files: tuple[StoredFile, ...] = ()
    facts: tuple[Fact, ...] = ()
    by_character: bool = False
    text_search_config: str = "english"
    days_between_facts: float = 0.0

    def half(self, half: Half) -> "EvaluationSet":
        """Return the set with one half of its questions; the same ones in every process, whatever their order."""
        if half is Half.ALL:
            return self
        wanted = half is Half.REPORT
        chosen = tuple(question for question in self.questions if _is_reported(self.name, question.key) is wanted)
        return replace(self, questions=chosen)

    def fingerprint(self) -> str:
        """Return a hash of all that is stored and asked: runs can be compared when it is equal.

        How texts are cut is no part of it. Like the ranking, it is what a comparison may be about.
        """
        texts = [replace(passage, chunking=ChunkRequest()) for passage in self.passages]
        parts: list[Hashable] = [self.name, self.by_character, *texts, *self.facts, *self.questions]
        digest = hashlib.sha256("\n".join(repr(part) for part in parts).encode())
        for stored in self.files:
            digest.update(f"\n{stored.key} ".encode() + stored.file.read_bytes())
        return digest.hexdigest()[:16]


def _is_reported(name: str, key: str) -> bool:
    return bool(hashlib.sha256(f"{name}/{key}".encode()).digest()[0] & 1)


def with_chunking(material: EvaluationSet, chunking: ChunkRequest) -> EvaluationSet:
    """Return the set with other chunk values for all its texts and files, where these say any."""
    if chunking == ChunkRequest():
        return material
    return replace(
        material,
        passages=tuple(replace(passage, chunking=chunking) for passage in material.passages),
        files=tuple(replace(stored, chunking=chunking) for stored in material.files),
    )


def distinct(keys: Iterable[str], what: str) -> None:
    """Raise ``SetProblem`` if a key stands twice."""
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise SetProblem(f"{what} {key} stands twice.")
        seen.add(key)
