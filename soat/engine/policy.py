"""Policies: documents of statements, and what they say of one action on one row.

Pure: documents come in as JSON values, rows as ``Target``. Default deny, an explicit deny wins. The same
``Clause`` values are evaluated here for one row and turned into SQL for lists, so both give one answer.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from soat.engine.match import PathRefused, canonical_path

MAX_STATEMENTS = 100
MAX_ITEMS = 100
MAX_ITEM_LENGTH = 1_200

RESOURCE_TYPES = frozenset(
    {
        "agent",
        "ai-provider",
        "api-key",
        "conversation",
        "document",
        "file",
        "formation",
        "generation",
        "ingestion-rule",
        "memory",
        "memory-entry",
        "orchestration",
        "policy",
        "project",
        "tool",
        "user",
        "webhook",
    }
)
TYPES_WITH_PATH = frozenset({"document", "file"})

TAG_KEY = "soat:ResourceTag/"
TYPE_KEY = "soat:ResourceType"

_ACTION = re.compile(r"\*|[a-z][a-z-]*:(\*|[A-Za-z]+)")
_STATEMENT_FIELDS = frozenset({"effect", "action", "resource", "condition"})


class PolicyRefused(ValueError):
    """A document that is no policy. ``path`` names the place, such as ``statement[0].effect``."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path} {message}")
        self.path = path
        self.message = message


class Effect(StrEnum):
    """What a statement does with what it matches."""

    ALLOW = "Allow"
    DENY = "Deny"


class Operator(StrEnum):
    """How a condition compares. A key that a row lacks is equal to nothing and like nothing."""

    EQUALS = "StringEquals"
    NOT_EQUALS = "StringNotEquals"
    LIKE = "StringLike"


@dataclass(frozen=True, slots=True)
class Condition:
    """``key`` is a tag's, or None for the resource type. Any of the values is enough; for *not equals* none may be."""

    operator: Operator
    key: str | None
    values: tuple[str, ...]

    def holds(self, found: Collection[str]) -> bool:
        """Tell whether it holds for a row whose key has the values ``found``."""
        match self.operator:
            case Operator.EQUALS:
                return any(value in found for value in self.values)
            case Operator.NOT_EQUALS:
                return not any(value in found for value in self.values)
            case Operator.LIKE:
                return any(glob_matches(value, text) for value in self.values for text in found)


@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """One ``srn:<project>:<type>:<name>``; None matches anything. ``folder`` ends in a slash."""

    project: str | None = None
    type: str | None = None
    name: str | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy document."""

    effect: Effect
    actions: tuple[str, ...]
    resources: tuple[ResourcePattern, ...]
    conditions: tuple[Condition, ...]

    def names_action(self, action: str) -> bool:
        """Tell whether it speaks of ``action``."""
        module = action.partition(":")[0]
        return any(pattern in {"*", action, f"{module}:*"} for pattern in self.actions)


PolicySet = tuple[Statement, ...]
"""The statements of all policies that are attached to one user or one key."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One way in which a statement matches rows. ``project`` is a database key; None matches anything.

    ``type`` None: of either type by which the row can be named.
    """

    project: int | None
    type: str | None
    name: str | None
    folder: str | None
    conditions: tuple[Condition, ...]

    @property
    def is_whole(self) -> bool:
        """Tell whether it covers every row of its project."""
        return self.name is None and self.folder is None and not self.conditions


@dataclass(frozen=True, slots=True)
class Target:
    """A row as policies see it.

    ``names`` has its id under its type, and the id of what it stands in under that one's type.
    ``project`` is a database key, None for a row of no project; each tag may have several values.
    """

    project: int | None
    names: Mapping[str, str | None]
    path: str | None
    tags: Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a policy set says of one action on the rows of one type."""

    allow: tuple[Clause, ...]
    deny: tuple[Clause, ...]

    def allows(self, target: Target) -> bool:
        """Tell whether the action is allowed on a row."""
        return _any_covers(self.allow, target) and not self.denies(target)

    def denies(self, target: Target) -> bool:
        """Tell whether a statement denies the action on a row explicitly."""
        return _any_covers(self.deny, target)


def rule_for(policies: PolicySet, action: str, types: Sequence[str] | None, projects: Mapping[str, int]) -> Rule:
    """Return what ``policies`` say of ``action`` on rows of ``types[0]``; with None on rows of any type.

    The further types are those of what such a row stands in: a statement that names the container covers
    what it contains. ``projects`` has the database keys of the public ids that the policies name.
    """
    return Rule(
        allow=tuple(_clauses(policies, Effect.ALLOW, action, types, projects)),
        deny=tuple(_clauses(policies, Effect.DENY, action, types, projects)),
    )


def _clauses(
    policies: PolicySet, effect: Effect, action: str, types: Sequence[str] | None, projects: Mapping[str, int]
) -> list[Clause]:
    found: list[Clause] = []
    for statement in policies:
        if statement.effect is not effect or not statement.names_action(action):
            continue
        open_conditions = statement.conditions
        if types is not None:
            if not all(condition.holds(types[:1]) for condition in statement.conditions if condition.key is None):
                continue
            open_conditions = tuple(condition for condition in statement.conditions if condition.key is not None)
        for pattern in statement.resources:
            if types is not None and pattern.type is not None and pattern.type not in types:
                continue
            if pattern.project is not None and pattern.project not in projects:
                continue
            project = projects[pattern.project] if pattern.project is not None else None
            found.append(Clause(project, pattern.type, pattern.name, pattern.folder, open_conditions))
    return found


def _any_covers(clauses: Sequence[Clause], target: Target) -> bool:
    return any(_covers(clause, target) for clause in clauses)


def _covers(clause: Clause, target: Target) -> bool:
    if clause.project is not None and clause.project != target.project:
        return False
    if not all(condition.holds(target.tags.get(condition.key or "", ())) for condition in clause.conditions):
        return False
    if clause.folder is not None:
        return target.path is not None and target.path.startswith(clause.folder)
    if clause.name is None:
        return True
    names = [name for type_, name in target.names.items() if clause.type in {None, type_}]
    return clause.name in (*names, target.path)


def glob_matches(pattern: str, text: str) -> bool:
    """Tell whether ``text`` as a whole matches; ``*`` is any run, ``?`` one character, all else literal.

    Goes back to the last star only, so it takes at most ``len(pattern) * len(text)`` steps.
    """
    at, place, star, retry = 0, 0, -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "*":
            star, retry = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in {"?", text[at]}:
            at, place = at + 1, place + 1
        elif star >= 0:
            retry += 1
            at, place = retry, star + 1
        else:
            return False
    return not pattern[place:].strip("*")


def parse_policy(document: Any) -> PolicySet:
    """Return the statements of a policy document. Raises ``PolicyRefused``."""
    _require(isinstance(document, dict), "document", "must be an object.")
    for key in document:
        _require(key == "statement", f"document.{key}"[:100], "is not a field of a policy document.")
    statements = document.get("statement")
    _require(isinstance(statements, list) and bool(statements), "document.statement", "must be a list of statements.")
    _require(len(statements) <= MAX_STATEMENTS, "document.statement", f"may have at most {MAX_STATEMENTS} items.")
    return tuple(_statement(raw, f"document.statement[{index}]") for index, raw in enumerate(statements))


def _statement(raw: Any, path: str) -> Statement:
    _require(isinstance(raw, dict), path, "must be an object.")
    for key in raw:
        _require(key in _STATEMENT_FIELDS, f"{path}.{key}"[:100], "is not a field of a statement.")
    effect = raw.get("effect")
    _require(isinstance(effect, str) and effect in list(Effect), f"{path}.effect", "must be Allow or Deny.")
    actions = _texts(raw.get("action"), f"{path}.action")
    for index, action in enumerate(actions):
        where = f"{path}.action[{index}]"
        _require(_ACTION.fullmatch(action) is not None, where, "must be *, module:* or module:Operation.")
    resources = _texts(raw["resource"], f"{path}.resource") if "resource" in raw else ("*",)
    patterns = tuple(_pattern(text, f"{path}.resource[{index}]") for index, text in enumerate(resources))
    conditions = _conditions(raw["condition"], f"{path}.condition") if "condition" in raw else ()
    return Statement(Effect(effect), actions, patterns, conditions)


def _pattern(text: str, path: str) -> ResourcePattern:
    if text == "*":
        return ResourcePattern()
    parts = text.split(":", 3)
    _require(len(parts) == 4 and parts[0] == "srn" and all(parts), path, "must be * or srn:<project>:<type>:<id>.")  # noqa: PLR2004
    project, kind, name = (None if part == "*" else part for part in parts[1:])
    _require(
        kind is None or kind in RESOURCE_TYPES, path, f"names no resource type: {', '.join(sorted(RESOURCE_TYPES))}."
    )
    _require("*" not in (project or ""), path, "may have * only as a whole segment, or at the end of a path.")
    if name is None or not name.startswith("/"):
        _require("*" not in (name or ""), path, "may have * only as a whole segment, or at the end of a path.")
        return ResourcePattern(project, kind, name)
    _require(kind is None or kind in TYPES_WITH_PATH, path, "names a path, which only documents and files have.")
    if name == "/*":
        return ResourcePattern(project, kind, None, "/")
    is_folder = name.endswith("/*")
    try:
        canonical = canonical_path(name[:-2] if is_folder else name)
    except PathRefused as error:
        raise PolicyRefused(path, f"has a path that cannot be: {error}.") from None
    return ResourcePattern(project, kind, None if is_folder else canonical, f"{canonical}/" if is_folder else None)


def _conditions(raw: Any, path: str) -> tuple[Condition, ...]:
    _require(isinstance(raw, dict), path, "must be an object of operators.")
    found: list[Condition] = []
    for operator, keys in raw.items():
        where = f"{path}.{operator}"[:100]
        _require(operator in list(Operator), where, f"must be one of {', '.join(Operator)}.")
        _require(isinstance(keys, dict) and bool(keys), where, "must be an object of keys and values.")
        for key, values in keys.items():
            place = f"{where}.{key}"[:200]
            is_tag = key.startswith(TAG_KEY) and len(key) > len(TAG_KEY)
            _require(is_tag or key == TYPE_KEY, place, f"must be {TAG_KEY}<key> or {TYPE_KEY}.")
            wanted = _texts([values] if isinstance(values, str) else values, place, blank=True)
            found.append(Condition(Operator(operator), key[len(TAG_KEY) :] if is_tag else None, wanted))
    return tuple(found)


def _texts(raw: Any, path: str, *, blank: bool = False) -> tuple[str, ...]:
    _require(isinstance(raw, list) and bool(raw), path, "must be a list of strings that is not empty.")
    _require(len(raw) <= MAX_ITEMS, path, f"may have at most {MAX_ITEMS} items.")
    for item in raw:
        _require(isinstance(item, str) and (blank or bool(item)), path, "must be a list of strings.")
        _require(len(item) <= MAX_ITEM_LENGTH, path, f"may have items of at most {MAX_ITEM_LENGTH} characters.")
    return tuple(unicodedata.normalize("NFC", item) for item in raw)


def _require(is_right: bool, path: str, message: str) -> None:
    if not is_right:
        raise PolicyRefused(path, message)
