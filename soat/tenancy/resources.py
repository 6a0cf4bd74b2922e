"""How the rows of a model look to policies, for one row and in SQL."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, F, Func, Model, Q, TextField, Value
from django.db.models.functions import Cast

from soat.engine.match import like_escape
from soat.engine.policy import Clause, Condition, Operator, Rule, Target


@dataclass(frozen=True, slots=True)
class Container:
    """What the rows of a model stand in. ``link`` is the foreign key to it; its tags count as theirs.

    Without a link the row is the container itself, asked for something that is to stand in it.
    """

    type: str
    link: str | None


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """What policies know of a model.

    ``reads`` are the actions without which a row is as unknown. ``project`` is the column with the project's
    key, None for rows of no project. ``tags`` is a JSON object, or with ``tag_list`` an array in which
    ``key:value`` is a tag with a value and any other text one with an empty value.
    """

    type: str
    reads: tuple[str, ...]
    project: str | None = "project_id"
    path: str | None = None
    tags: str | None = None
    tag_list: bool = False
    container: Container | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """Return the own type first, then that of the container."""
        return (self.type, self.container.type) if self.container else (self.type,)

    def target(self, row: Any) -> Target:
        """Return a row as the evaluator sees it; one that is not saved yet has no name that is known."""
        public_id = row.public_id if row.pk is not None else None
        names: dict[str, str | None] = {self.type: public_id}
        tags = self._tags_of(row)
        if self.container is not None and self.container.link is None:
            names = {self.container.type: public_id}
        elif self.container is not None and self.container.link is not None:
            container = getattr(row, self.container.link)
            names[self.container.type] = container.public_id
            for key, values in self._tags_of(container).items():
                tags[key] = {*tags.get(key, ()), *values}
        return Target(
            project=getattr(row, self.project) if self.project else None,
            names=names,
            path=getattr(row, self.path) if self.path else None,
            tags=tags,
        )

    def _tags_of(self, row: Any) -> dict[str, Collection[str]]:
        raw = (getattr(row, self.tags) if self.tags else None) or {}
        if not self.tag_list:
            return {key: {value} for key, value in raw.items() if isinstance(value, str)}
        tags: dict[str, set[str]] = {}
        for tag in raw:
            key, _, value = tag.partition(":")
            tags.setdefault(key, set()).add(value)
        return {**tags}

    def allowed(self, rule: Rule) -> "Q | bool":
        """Return the condition that ``Rule.allows`` is for one row."""
        return both(self._any(rule.allow), self.not_denied(rule))

    def not_denied(self, rule: Rule) -> "Q | bool":
        """Return the condition that no statement denies the row."""
        denied = self._any(rule.deny)
        return not denied if isinstance(denied, bool) else ~denied

    def _any(self, clauses: Sequence[Clause]) -> "Q | bool":
        found: Q | bool = False
        for clause in clauses:
            found = either(found, self._covered(clause))
        return found

    def _covered(self, clause: Clause) -> "Q | bool":
        found: Q | bool = True
        if clause.project is not None:
            found = Q(**{self.project: clause.project}) if self.project else False
        if clause.folder is not None:
            found = both(found, Q(**{f"{self.path}__startswith": clause.folder}) if self.path else False)
        elif clause.name is not None:
            found = both(found, self._named(clause.type, clause.name))
        for condition in clause.conditions:
            found = both(found, self._tagged(condition))
        return found

    def _named(self, type_: str | None, name: str) -> "Q | bool":
        found: Q | bool = False
        link = self.container.link if self.container else None
        if type_ in {None, self.container.type if self.container and not link else self.type}:
            found = Q(public_id=name)
        if self.container is not None and link and type_ in {None, self.container.type}:
            found = either(found, Q(**{f"{link}__public_id": name}))
        return either(found, Q(**{self.path: name})) if self.path else found

    def _tagged(self, condition: Condition) -> "Q | bool":
        fields = [self.tags] if self.tags else []
        if fields and self.container is not None and self.container.link is not None:
            fields.append(f"{self.container.link}__{self.tags}")
        matching: Q | bool = False
        for field in fields:
            for value in condition.values:
                matching = either(matching, Q(self._tag_is(field, condition, value)))
        if condition.operator is not Operator.NOT_EQUALS:
            return matching
        return not matching if isinstance(matching, bool) else ~matching

    def _tag_is(self, field: str, condition: Condition, value: str) -> Func:
        key = condition.key or ""
        is_like = condition.operator is Operator.LIKE
        pattern = _like(value) if is_like else like_escape(value)
        if self.tag_list:
            with_value = f"{like_escape(key)}:{pattern}"
            # A tag without a value has the empty one; ":" cannot be part of a key.
            is_bare = not value.strip("*") if is_like else not value
            patterns = [] if ":" in key else [with_value, *([like_escape(key)] if is_bare else [])]
            return ListTagMatches(field, patterns)
        return MapTagMatches(field, key, pattern)


class MapTagMatches(Func):
    """True when the JSON object's value under a key matches a ``LIKE`` pattern; never NULL."""

    template = "COALESCE(%(expressions)s, FALSE)"
    arg_joiner = " LIKE "
    output_field = BooleanField()

    def __init__(self, field: str, key: str, pattern: str) -> None:
        value = Func(F(field), Value(key), template="(%(expressions)s)", arg_joiner=" ->> ", output_field=TextField())
        super().__init__(value, Value(pattern))


class ListTagMatches(Func):
    """True when any text of the array column matches one of the ``LIKE`` patterns; never NULL."""

    template = "EXISTS (SELECT 1 FROM unnest(%(expressions)s))"
    arg_joiner = ") AS tag WHERE tag LIKE ANY ("
    output_field = BooleanField()

    def __init__(self, field: str, patterns: list[str]) -> None:
        super().__init__(F(field), Cast(Value(patterns), ArrayField(TextField())))


def _like(glob: str) -> str:
    parts = ("%" if char == "*" else "_" if char == "?" else like_escape(char) for char in glob)
    return "".join(parts)


def both(left: "Q | bool", right: "Q | bool") -> "Q | bool":
    """Return *and*; an empty ``Q`` would be neutral in *or*, so truth is a value of its own here."""
    if isinstance(left, bool):
        return right if left else False
    if isinstance(right, bool):
        return left if right else False
    return left & right


def either(left: "Q | bool", right: "Q | bool") -> "Q | bool":
    """Return *or*."""
    if isinstance(left, bool):
        return True if left else right
    if isinstance(right, bool):
        return True if right else left
    return left | right


def kind_of(model: type[Model]) -> ResourceKind:
    """Return what policies know of a model that says so in its ``resource``."""
    kind: ResourceKind = model.resource  # type: ignore[attr-defined]
    return kind
