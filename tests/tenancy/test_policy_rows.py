"""The SQL of a policy keeps exactly the rows that the evaluator allows, whatever the policy."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from documents.models import Document
from memories.models import Memory, MemoryEntry
from soat.engine.policy import parse_policy, rule_for
from soat.files.models import File
from soat.tenancy.access import Caller
from tests.conftest import Cast

TAGS: list[dict[str, str]] = [{}, {"team": "blue"}, {"team": "red", "secret": "yes"}, {"te%m": "bl_e"}, {"": "x"}]
LISTS: list[list[str]] = [[], ["team:blue"], ["team:red", "secret"], ["secret:yes", "team:blue"], ["te%m:bl_e"]]
PATHS = [None, "/a/b.txt", "/a", "/ab/c", "/A/b.txt", "/a/b/c", "/%/x"]


@dataclass(frozen=True)
class World:
    """Documents and entries of two projects, with all sorts of paths and tags."""

    cast: Cast
    documents: list[Document]
    entries: list[MemoryEntry]


@pytest.fixture
def world(cast: Cast) -> World:
    made = World(cast, [], [])
    for project in (cast.project_a, cast.project_b):
        for number, path in enumerate(PATHS):
            key = f"{project.pk}-{number}"
            file = File.objects.create(
                project=project, filename="x", content_type="text/plain", size=0, storage_key=key
            )
            tags = None if number == 3 else TAGS[number % len(TAGS)]
            made.documents.append(
                Document.objects.create(project=project, file=file, path=path, chunk_strategy="whole", tags=tags)
            )
        for memory_tags in LISTS[:3]:
            memory = Memory.objects.create(project=project, name="m", tags=memory_tags)
            made.entries.extend(
                MemoryEntry.objects.create(project=project, memory=memory, content="x", content_hash=b"", tags=tags)
                for tags in LISTS
            )
    return made


ACTIONS = ["*", "documents:*", "documents:GetDocument", "documents:DeleteDocument", "memories:*"]
ACTIONS += ["memories:GetMemory", "memories:GetMemoryEntry", "memories:UpdateMemoryEntry"]
RESOURCES = [
    "*",
    "srn:*:*:*",
    "srn:{a}:*:*",
    "srn:{b}:*:*",
    "srn:{a}:document:*",
    "srn:*:document:{doc}",
    "srn:*:*:{doc}",
]
RESOURCES += ["srn:*:document:/a/*", "srn:{b}:document:/a", "srn:*:*:/*", "srn:*:document:/%/*", "srn:proj_none:*:*"]
RESOURCES += ["srn:*:memory:{memory}", "srn:*:memory-entry:{entry}", "srn:{a}:memory-entry:*", "srn:*:file:*"]
VALUES = ["blue", "red", "yes", "", "*", "bl?e", "bl_e", "*e*", "b%", "?"]
KEYS = ["soat:ResourceTag/team", "soat:ResourceTag/secret", "soat:ResourceTag/te%m", "soat:ResourceTag/te_m"]
CONDITIONS = st.dictionaries(
    st.sampled_from(["StringEquals", "StringNotEquals", "StringLike"]),
    st.dictionaries(
        st.sampled_from(KEYS), st.lists(st.sampled_from(VALUES), min_size=1, max_size=2), min_size=1, max_size=2
    ),
    max_size=2,
)
TYPED = st.just({"StringEquals": {"soat:ResourceType": ["document"]}})
STATEMENTS = st.fixed_dictionaries(
    {
        "effect": st.sampled_from(["Allow", "Allow", "Deny"]),
        "action": st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=2),
        "resource": st.lists(st.sampled_from(RESOURCES), min_size=1, max_size=2),
        "condition": st.one_of(st.just({}), CONDITIONS, TYPED),
    }
)
POLICIES = st.lists(STATEMENTS, min_size=1, max_size=4)


def caller_with(world: World, sets: list[list[dict[str, Any]]], bound: bool) -> Caller:
    cast = world.cast
    names = {
        "a": cast.project_a.public_id,
        "b": cast.project_b.public_id,
        "doc": world.documents[1].public_id,
        "memory": world.entries[6].memory.public_id,
        "entry": world.entries[2].public_id,
    }
    for statement in (statement for policy in sets for statement in policy):
        statement["resource"] = [text.format(**names) for text in statement["resource"]]
    return Caller(
        user_id=1,
        user_public_id="user_x",
        is_admin=False,
        project_id=cast.project_a.pk if bound else None,
        project_public_id=cast.project_a.public_id if bound else None,
        policies=tuple(parse_policy({"statement": policy}) for policy in sets),
        known_projects={project.public_id: project.pk for project in (cast.project_a, cast.project_b)},
    )


EACH = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@EACH
@given(sets=st.lists(POLICIES, min_size=1, max_size=2), bound=st.booleans())
def test_the_sql_keeps_the_rows_that_the_evaluator_allows(world: World, sets: Any, bound: bool) -> None:
    caller = caller_with(world, sets, bound)
    for action, rows, found in (
        ("documents:GetDocument", world.documents, Document.objects.all()),
        ("memories:GetMemory", [entry.memory for entry in world.entries[::5]], Memory.objects.all()),
    ):
        access = caller.access(action)
        allowed = {row.pk for row in rows if access.allows(row)}
        assert set(access.rows(found).values_list("pk", flat=True)) == allowed
    entries = caller.access("memories:GetMemoryEntry")
    kept = set(entries.rows(MemoryEntry.objects.all()).values_list("pk", flat=True))
    assert kept <= {row.pk for row in world.entries if entries.allows(row)}


@EACH
@given(sets=st.lists(POLICIES, min_size=1, max_size=2), bound=st.booleans())
def test_a_row_that_can_be_changed_can_be_read(world: World, sets: Any, bound: bool) -> None:
    caller = caller_with(world, sets, bound)
    read, delete = caller.access("documents:GetDocument"), caller.access("documents:DeleteDocument")
    grants_reading = all(
        rule_for(policies, read.action, ("document",), caller.known_projects).allow for policies in caller.policies
    )
    for row in delete.rows(Document.objects.all()):
        assert read.allows(row) or not grants_reading
