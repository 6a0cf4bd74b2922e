"""Paths, prefixes and globs; LIKE patterns are read back by a small LIKE of our own."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soat.engine.match import (
    MAX_PATH_LENGTH,
    PathFault,
    PathRefused,
    canonical_path,
    canonical_prefix,
    content_type_matches,
    folder_like,
    has_prefix,
    in_folder,
    join_path,
    most_specific,
    prefix_like,
    split_path,
    tag_glob_like,
    tag_glob_matches,
)


def like(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """PostgreSQL's LIKE with the backslash as its escape."""
    signs = re.findall(r"\\.|.", pattern, re.DOTALL)
    parts = {"%": "[\\s\\S]*", "_": "[\\s\\S]"}
    built = "".join(parts.get(sign, re.escape(sign[-1])) for sign in signs)
    if ignore_case:
        return re.fullmatch(built.lower() if "\\S" not in built else _lower_like(signs), text.lower()) is not None
    return re.fullmatch(built, text) is not None


def _lower_like(signs: list[str]) -> str:
    parts = {"%": "[\\s\\S]*", "_": "[\\s\\S]"}
    return "".join(parts.get(sign, re.escape(sign[-1].lower())) for sign in signs)


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("/a/b.txt", "/a/b.txt"),
        ("a/b.txt", "/a/b.txt"),
        ("//a///b.txt", "/a/b.txt"),
        ("/a/", "/a"),
        ("/e\u0301.txt", "/é.txt"),
        ("/100%_off/[x].txt", "/100%_off/[x].txt"),
        ("/a/../b", "/a/../b"),
    ],
)
def test_canonical_path(path: str, canonical: str) -> None:
    assert canonical_path(path) == canonical


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", PathFault.EMPTY),
        ("///", PathFault.EMPTY),
        ("  ", PathFault.EMPTY),
        ("/a\0", PathFault.NUL),
        ("/a\ud800", PathFault.SURROGATE),
        ("a" * MAX_PATH_LENGTH, PathFault.TOO_LONG),
    ],
)
def test_canonical_path_refuses(path: str, reason: PathFault) -> None:
    with pytest.raises(PathRefused) as refusal:
        canonical_path(path)
    assert refusal.value.reason is reason


_PATHS = st.text(st.sampled_from("ab/ %_\\.é"), max_size=12)


@given(_PATHS | st.text(max_size=30))
def test_canonical_path_is_idempotent_and_splits(path: str) -> None:
    try:
        canonical = canonical_path(path)
    except PathRefused:
        return
    assert canonical_path(canonical) == canonical
    prefix, filename = split_path(canonical)
    assert join_path(prefix, filename) == canonical
    assert "/" not in filename
    assert in_folder(canonical, prefix)


@pytest.mark.parametrize(
    ("path", "parts"), [("/c.txt", ("/", "c.txt")), ("/a/b/c.txt", ("/a/b", "c.txt")), ("x", ("/", "x"))]
)
def test_split_path(path: str, parts: tuple[str, str]) -> None:
    assert split_path(path) == parts


@pytest.mark.parametrize(
    ("prefix", "path", "plain", "folder"),
    [
        ("/a", "/a/x", True, True),
        ("/a", "/ab", True, False),
        ("/a", "/a", True, True),
        ("/a/", "/ab", False, False),
        ("/a/", "/a/x", True, True),
        ("a", "/ab", True, False),
        ("", "/ab", True, True),
        ("/", "/ab", True, True),
        ("/a_", "/ab/x", False, False),
        ("/a%", "/abc/x", False, False),
        ("/a\\", "/a/x", False, False),
    ],
)
def test_prefix_and_folder(prefix: str, path: str, plain: bool, folder: bool) -> None:
    assert has_prefix(path, prefix) is plain
    assert in_folder(path, prefix) is folder


@given(_PATHS, _PATHS)
def test_prefix_patterns_equal_the_pure_functions(prefix: str, path: str) -> None:
    path = canonical_prefix(path)
    assert like(prefix_like(prefix), path) == has_prefix(path, prefix)
    pattern = folder_like(prefix)
    assert (path == pattern.exact or like(pattern.like, path)) == in_folder(path, prefix)


@pytest.mark.parametrize(
    ("glob", "tag", "matches"),
    [
        ("user*", "user-42", True),
        ("user*", "superuser", False),
        ("USER-?", "user-4", True),
        ("user-?", "user-42", False),
        ("*", "", True),
        ("a%", "abc", False),
        ("a_c", "abc", False),
        ("[ab]", "a", False),
        ("[ab]", "[AB]", True),
        ("a\\*", "a\\bc", True),
        ("a*b*c", "aXXbYYc", True),
        ("a*b*c", "aXXbYY", False),
        ("", "a", False),
        ("?", "\n", True),
        ("é*", "Éa", True),
    ],
)
def test_tag_globs(glob: str, tag: str, matches: bool) -> None:
    assert tag_glob_matches(glob, tag) is matches
    assert like(tag_glob_like(glob), tag, ignore_case=True) is matches


_GLOBS = st.text(st.sampled_from("aB*?%_[]\\"), max_size=8)
_TAGS = st.text(st.sampled_from("aAbB%_[]\\*?\n"), max_size=8)


@given(_GLOBS, _TAGS)
def test_the_glob_pattern_equals_the_pure_matcher(glob: str, tag: str) -> None:
    assert like(tag_glob_like(glob), tag, ignore_case=True) == tag_glob_matches(glob, tag)


def test_a_hostile_glob_is_not_exponential() -> None:
    assert not tag_glob_matches("*a" * 60 + "b", "a" * 3000)


@pytest.mark.parametrize(
    ("globs", "content_type", "winner"),
    [
        (["*", "image/*", "image/png"], "image/png", "image/png"),
        (["*/*", "image/*"], "IMAGE/PNG; charset=x", "image/*"),
        (["application/*", "application/vnd.*"], "application/vnd.ms-excel", "application/vnd.*"),
        (["a*/x*", "*/xyz"], "ab/xyz", "*/xyz"),
        (["image/*"], "text/plain", None),
        (["text/*", "*/plain"], "text/plain", "*/plain"),
    ],
)
def test_the_most_specific_rule_wins(globs: list[str], content_type: str, winner: str | None) -> None:
    assert most_specific(globs, content_type) == winner
    assert most_specific(reversed(globs), content_type) == winner


def test_content_types_match_whole() -> None:
    assert content_type_matches("image/p?g", "image/png")
    assert not content_type_matches("image/pn", "image/png")
