"""Policies: what a document may say, and what it says of an action on a row."""

from typing import Any

import pytest

from soat.engine.policy import (
    Clause,
    PolicyRefused,
    Rule,
    Target,
    glob_matches,
    parse_policy,
    rule_for,
)

PROJECTS = {"proj_a": 1, "proj_b": 2}


def statement(
    action: str = "*", resource: str | None = None, effect: str = "Allow", **condition: Any
) -> dict[str, Any]:
    made: dict[str, Any] = {"effect": effect, "action": [action]}
    if resource is not None:
        made["resource"] = [resource]
    if condition:
        made["condition"] = condition
    return made


def rule(*statements: dict[str, Any], action: str = "documents:GetDocument", types: Any = ("document",)) -> Rule:
    return rule_for(parse_policy({"statement": list(statements)}), action, types, PROJECTS)


def document(project: int = 1, name: str = "doc_1", path: str | None = "/a/b.txt", **tags: str) -> Target:
    return Target(project, {"document": name}, path, {key: {value} for key, value in tags.items()})


@pytest.mark.parametrize(
    ("action", "is_named"),
    [
        ("*", True),
        ("documents:*", True),
        ("documents:GetDocument", True),
        ("documents:Get", False),
        ("documents:getdocument", False),
        ("documents:DeleteDocument", False),
        ("document:*", False),
        ("files:*", False),
    ],
)
def test_actions_match_exactly_by_module_or_all(action: str, is_named: bool) -> None:
    assert rule(statement(action)).allows(document()) is is_named


@pytest.mark.parametrize(
    ("resource", "is_named"),
    [
        (None, True),
        ("*", True),
        ("srn:*:*:*", True),
        ("srn:proj_a:*:*", True),
        ("srn:proj_b:*:*", False),
        ("srn:proj_unknown:*:*", False),
        ("srn:proj_a:document:*", True),
        ("srn:*:document:doc_1", True),
        ("srn:*:document:doc_", False),
        ("srn:*:document:doc_11", False),
        ("srn:*:file:*", False),
        ("srn:*:file:doc_1", False),
        ("srn:*:*:doc_1", True),
        ("srn:*:document:/a/b.txt", True),
        ("srn:*:document:/a/B.txt", False),
        ("srn:*:document:/a", False),
        ("srn:*:document:/a/*", True),
        ("srn:*:*:/a/*", True),
        ("srn:*:document:/*", True),
        ("srn:*:document:/a/b.txt/*", False),
        ("srn:*:document:/a/b/*", False),
        ("srn:*:document:/*/b.txt", False),
        ("srn:*:document:/a%/*", False),
        ("srn:*:document:/_/*", False),
    ],
)
def test_resources_match_by_segment_or_by_path(resource: str | None, is_named: bool) -> None:
    assert rule(statement(resource=resource)).allows(document()) is is_named


def test_a_folder_ends_at_its_slash_and_a_row_without_path_is_in_none() -> None:
    folder = rule(statement(resource="srn:*:document:/a/*"))
    assert not folder.allows(document(path="/ab/c"))
    assert not folder.allows(document(path="/a"))
    assert not folder.allows(document(path=None))
    assert not rule(statement(resource="srn:*:document:/*")).allows(document(path=None))


def test_nothing_is_allowed_without_a_statement_and_a_deny_wins_whatever_the_order() -> None:
    allow, deny = statement(), statement(resource="srn:proj_a:document:/a/*", effect="Deny")
    assert not rule(statement("files:*")).allows(document())
    for statements in ((allow, deny), (deny, allow)):
        both = rule(*statements)
        assert not both.allows(document())
        assert both.denies(document())
        assert both.allows(document(path="/b"))
        assert not both.denies(document(path="/b"))


@pytest.mark.parametrize(
    ("operator", "value", "tags", "holds"),
    [
        ("StringEquals", "blue", {"team": "blue"}, True),
        ("StringEquals", "blue", {"team": "Blue"}, False),
        ("StringEquals", "blue", {}, False),
        ("StringEquals", "*", {"team": "blue"}, False),
        ("StringEquals", ["red", "blue"], {"team": "blue"}, True),
        ("StringNotEquals", "blue", {"team": "blue"}, False),
        ("StringNotEquals", "blue", {"team": "red"}, True),
        ("StringNotEquals", "blue", {}, True),
        ("StringNotEquals", ["red", "blue"], {"team": "red"}, False),
        ("StringLike", "bl*", {"team": "blue"}, True),
        ("StringLike", "bl?e", {"team": "blue"}, True),
        ("StringLike", "bl%", {"team": "blue"}, False),
        ("StringLike", "*", {"team": ""}, True),
        ("StringLike", "*", {}, False),
        ("StringLike", "blu", {"team": "blue"}, False),
    ],
)
def test_conditions_on_tags(operator: str, value: Any, tags: dict[str, str], holds: bool) -> None:
    found = rule({**statement(), "condition": {operator: {"soat:ResourceTag/team": value}}})
    target = Target(1, {"document": "doc_1"}, None, {key: {text} for key, text in tags.items()})
    assert found.allows(target) is holds


def test_all_conditions_of_a_statement_must_hold() -> None:
    both = rule(
        statement(
            StringEquals={"soat:ResourceTag/team": "blue", "soat:ResourceType": "document"},
            StringNotEquals={"soat:ResourceTag/secret": "yes"},
        )
    )
    assert both.allows(document(team="blue"))
    assert not both.allows(document(team="blue", secret="yes"))
    assert not rule(statement(StringEquals={"soat:ResourceType": "file"})).allows(document())


def test_a_statement_that_names_the_container_covers_what_it_contains() -> None:
    entry = Target(1, {"memory-entry": "mem_entry_1", "memory": "mem_1"}, None, {})
    types = ("memory-entry", "memory")
    for resource, is_covered in {
        "srn:proj_a:memory:mem_1": True,
        "srn:proj_a:memory:*": True,
        "srn:proj_a:memory-entry:mem_entry_1": True,
        "srn:proj_a:memory:mem_2": False,
        "srn:proj_a:memory:mem_entry_1": False,
        "srn:proj_a:memory-entry:mem_1": False,
    }.items():
        found = rule(statement(resource=resource), types=types)
        assert found.allows(entry) is is_covered, resource


def test_whether_a_clause_is_about_a_whole_project() -> None:
    assert [clause.is_whole for clause in rule(statement()).allow] == [True]
    assert [clause.is_whole for clause in rule(statement(resource="srn:*:document:doc_1")).allow] == [False]
    assert rule(statement(resource="srn:proj_a:document:*")).allow == (Clause(1, "document", None, None, ()),)


def test_a_glob_with_many_stars_takes_no_time() -> None:
    assert not glob_matches("*a" * 300 + "b", "a" * 5_000)
    assert glob_matches("*a" * 30, "a" * 500)


@pytest.mark.parametrize(
    ("broken", "path"),
    [
        ([], "document"),
        ({}, "document.statement"),
        ({"statement": []}, "document.statement"),
        ({"statement": {}}, "document.statement"),
        ({"statement": [{}], "version": 1}, "document.version"),
        ({"statement": ["x"]}, "document.statement[0]"),
        ({"statement": [{"action": ["*"]}]}, "document.statement[0].effect"),
        ({"statement": [{"effect": "allow", "action": ["*"]}]}, "document.statement[0].effect"),
        ({"statement": [{"effect": "Allow"}]}, "document.statement[0].action"),
        ({"statement": [{"effect": "Allow", "action": "*"}]}, "document.statement[0].action"),
        ({"statement": [{"effect": "Allow", "action": []}]}, "document.statement[0].action"),
        ({"statement": [{"effect": "Allow", "action": ["x"]}]}, "document.statement[0].action[0]"),
        ({"statement": [{"effect": "Allow", "action": ["*", "files:"]}]}, "document.statement[0].action[1]"),
        ({"statement": [{"effect": "Allow", "action": [5]}]}, "document.statement[0].action"),
        ({"statement": [statement() | {"principal": "x"}]}, "document.statement[0].principal"),
        ({"statement": [statement() | {"resource": "*"}]}, "document.statement[0].resource"),
        ({"statement": [statement(resource="srn:a:b")]}, "document.statement[0].resource[0]"),
        ({"statement": [statement(resource="srn:a:nothing:*")]}, "document.statement[0].resource[0]"),
        ({"statement": [statement(resource="srn:a*:file:*")]}, "document.statement[0].resource[0]"),
        ({"statement": [statement(resource="srn:*:file:file_*")]}, "document.statement[0].resource[0]"),
        ({"statement": [statement(resource="srn:*:memory:/a/*")]}, "document.statement[0].resource[0]"),
        ({"statement": [statement(resource="srn::file:*")]}, "document.statement[0].resource[0]"),
        ({"statement": [statement() | {"condition": []}]}, "document.statement[0].condition"),
        ({"statement": [statement(Numeric={})]}, "document.statement[0].condition.Numeric"),
        ({"statement": [statement(StringEquals={})]}, "document.statement[0].condition.StringEquals"),
        (
            {"statement": [statement(StringEquals={"soat:Tag": "x"})]},
            "document.statement[0].condition.StringEquals.soat:Tag",
        ),
        (
            {"statement": [statement(StringEquals={"soat:ResourceType": 5})]},
            "document.statement[0].condition.StringEquals.soat:ResourceType",
        ),
    ],
)
def test_what_is_no_policy_is_refused_with_its_place(broken: Any, path: str) -> None:
    with pytest.raises(PolicyRefused) as caught:
        parse_policy(broken)
    assert caught.value.path == path


def test_paths_are_compared_in_their_one_spelling() -> None:
    assert rule(statement(resource="srn:*:document://a//e\u0301/*")).allows(document(path="/a/é/x"))
