"""Paths, prefixes and globs: one canonical form, and LIKE patterns that mean what they say.

LIKE patterns use the backslash, PostgreSQL's default, as their escape character.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

MAX_PATH_LENGTH = 1024

_SLASHES = re.compile("/{2,}")
_STARS = re.compile(r"\*{2,}")
_SURROGATE = re.compile("[\ud800-\udfff]")


class PathFault(StrEnum):
    """Why a path is refused."""

    EMPTY = "empty"
    NUL = "nul"
    SURROGATE = "surrogate"
    TOO_LONG = "too_long"


class PathRefused(ValueError):
    """A path that cannot be stored; ``reason`` says why."""

    def __init__(self, reason: PathFault) -> None:
        super().__init__(_REFUSALS[reason])
        self.reason = reason


_REFUSALS = {
    PathFault.EMPTY: "the path is empty",
    PathFault.NUL: "the path holds a NUL character",
    PathFault.SURROGATE: "the path holds a lone surrogate",
    PathFault.TOO_LONG: f"the path is longer than {MAX_PATH_LENGTH} characters",
}


@dataclass(frozen=True, slots=True)
class FolderPattern:
    """A folder as two conditions of which one must hold: ``path = exact OR path LIKE like``."""

    exact: str
    like: str


def canonical_path(path: str) -> str:
    """Return the one spelling of a document's path.

    NFC, one leading slash, runs of slashes collapsed, no slash at the end: a document is never a
    folder. Dots are ordinary characters, since a path names no place in a file system. Raises
    ``PathRefused`` for a path that names nothing, for NUL, a lone surrogate, or over 1,024 characters.
    """
    canonical = canonical_prefix(path).rstrip("/")
    if not canonical.strip("/ \t\r\n"):
        raise PathRefused(PathFault.EMPTY)
    if len(canonical) > MAX_PATH_LENGTH:
        raise PathRefused(PathFault.TOO_LONG)
    return canonical


def canonical_prefix(prefix: str) -> str:
    """Return the one spelling of a path prefix: as a path, but a slash at the end is kept.

    ``/a/`` is the folder, ``/a`` also reaches ``/ab``; empty means ``/``, every path. Raises
    ``PathRefused`` for NUL and lone surrogates. A prefix may be of any length: it only matches nothing.
    """
    if "\0" in prefix:
        raise PathRefused(PathFault.NUL)
    if _SURROGATE.search(prefix):
        raise PathRefused(PathFault.SURROGATE)
    return _SLASHES.sub("/", "/" + unicodedata.normalize("NFC", prefix))


def split_path(path: str) -> tuple[str, str]:
    """Return folder and file name of a path: ``("/a/b", "c.txt")``, ``("/", "c.txt")`` at the top."""
    folder, _, filename = canonical_path(path).rpartition("/")
    return folder or "/", filename


def join_path(prefix: str, filename: str) -> str:
    """Return the canonical path of a file in a folder; slashes in the name make folders of their own."""
    return canonical_path(f"{prefix}/{filename}")


def like_escape(text: str) -> str:
    """Return the text with LIKE's own signs (backslash, percent, underscore) made literal."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def prefix_like(prefix: str) -> str:
    """Return the LIKE pattern of a plain prefix (search's ``document_paths``)."""
    return like_escape(canonical_prefix(prefix)) + "%"


def has_prefix(path: str, prefix: str) -> bool:
    """Tell what ``path LIKE prefix_like(prefix)`` tells, for a canonical path."""
    return path.startswith(canonical_prefix(prefix))


def folder_like(prefix: str) -> FolderPattern:
    """Return the conditions of a folder (the document list's ``path_prefix``): ``/a`` never reaches ``/ab``."""
    folder = canonical_prefix(prefix).rstrip("/")
    return FolderPattern(exact=folder or "/", like=like_escape(folder) + "/%")


def in_folder(path: str, prefix: str) -> bool:
    """Tell what the conditions of ``folder_like(prefix)`` tell, for a canonical path."""
    folder = canonical_prefix(prefix).rstrip("/")
    return path == (folder or "/") or path.startswith(folder + "/")


def tag_glob_like(glob: str) -> str:
    r"""Return the ILIKE pattern of a tag glob: ``*`` any run, ``?`` one character, all else literal.

    Literal are also ``%``, ``_``, ``[`` and the backslash. Runs of ``*`` become one ``%``.
    """
    return "".join(_like_sign(char) for char in _STARS.sub("*", glob))


def _like_sign(char: str) -> str:
    if char == "*":
        return "%"
    return "_" if char == "?" else like_escape(char)


def tag_glob_matches(glob: str, tag: str) -> bool:
    """Tell whether the whole tag matches the glob, case ignored: what ``tag ILIKE tag_glob_like(glob)`` tells."""
    return _glob_matches(_fold(glob), _fold(tag))


def _fold(text: str) -> list[str]:
    """Lower-case character by character, as ILIKE does: ``?`` stands for one of the stored characters."""
    return [char.lower() for char in text]


def _glob_matches(glob: list[str], text: list[str]) -> bool:
    """Match greedily with one point to come back to: no pattern can make this exponential."""
    at_glob = at_text = 0
    star = -1
    resume = 0
    while at_text < len(text):
        if at_glob < len(glob) and glob[at_glob] == "*":
            star, resume = at_glob, at_text
            at_glob += 1
        elif at_glob < len(glob) and glob[at_glob] in ("?", text[at_text]):
            at_glob += 1
            at_text += 1
        elif star >= 0:
            resume += 1
            at_glob, at_text = star + 1, resume
        else:
            return False
    return all(sign == "*" for sign in glob[at_glob:])


def media_type(content_type: str) -> str:
    """Return the bare media type of a content type: lower case, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def content_type_matches(glob: str, content_type: str) -> bool:
    """Tell whether the glob of an ingestion rule matches a content type; case and parameters are ignored."""
    return tag_glob_matches(glob.strip(), media_type(content_type))


def content_type_rank(glob: str) -> tuple[int, int, str]:
    """Return the sort key that puts the more specific glob first.

    Fewest wildcards, then the longest literal part; the text of the glob makes the order total.
    """
    folded = glob.strip().lower()
    wildcards = folded.count("*") + folded.count("?")
    return wildcards, wildcards - len(folded), folded


def most_specific(globs: Iterable[str], content_type: str) -> str | None:
    """Return the glob that decides about a content type, ``None`` when none matches."""
    matching = (glob for glob in globs if content_type_matches(glob, content_type))
    return min(matching, key=content_type_rank, default=None)
