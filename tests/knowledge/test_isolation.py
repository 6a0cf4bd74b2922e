"""Nobody finds a row of a project that is not theirs, whichever filter is used and whoever asks."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from knowledge.search import Search, search_knowledge
from soat.tenancy.access import NO_PROJECT, ProjectScope
from soat.tenancy.keys import create_api_key
from soat.tenancy.models import User
from tests.conftest import client_with
from tests.knowledge.world import SEARCH, SWORDFISH, World, contents, search
from tests.memories.rest import Record, assert_error

UNKNOWN = {"memory_ids": ["mem_doesnotexist0000"], "document_ids": ["doc_doesnotexist0000"]}


def filters_for_the_secret(world: World) -> list[Record]:
    """Return every way to ask for what project B hides."""
    memory, document = [world.secret_memory], [world.secret_document]
    return [
        {"memory_ids": memory},
        {"memory_tags": ["secret"]},
        {"memory_tags": ["*"]},
        {"memory_tags": ["ui"], "memory_ids": memory},
        {"document_ids": document},
        {"document_paths": ["/policies/secret"]},
        {"document_paths": ["/"]},
        {"document_ids": document, "document_paths": ["/"]},
        {"memory_ids": memory, "document_ids": document, "document_paths": ["/"], "memory_tags": ["*"]},
    ]


def callers(world: World) -> list[tuple[APIClient, Record]]:
    """Return everyone who may not see project B, with what they add to the body."""
    cast = world.cast
    bound = create_api_key(user_id=cast.outsider_user.pk, name="bound", project=cast.project_a)[1]
    unbound = create_api_key(user_id=cast.outsider_user.pk, name="unbound", project=None)[1]
    a: Record = {"project_id": cast.project_a.public_id}
    return [
        (cast.a, {}),
        (cast.a, a),
        (cast.admin, a),
        (cast.outsider, {}),
        (client_with(unbound), {}),
        (client_with(bound), {}),
    ]


@pytest.mark.parametrize("query", ["", SWORDFISH])
def test_no_filter_reaches_another_project(world: World, query: str) -> None:
    for client, extra in callers(world):
        for body in filters_for_the_secret(world):
            results = search(client, query=query, limit=1_000, **body, **extra)
            assert SWORDFISH not in contents(results)
            assert world.secret_memory not in {result.get("memory_id") for result in results}
            assert world.cast.project_b.public_id not in {result.get("project_id") for result in results}


def test_a_foreign_id_is_an_unknown_id(world: World) -> None:
    foreign = {"memory_ids": [world.secret_memory], "document_ids": [world.secret_document]}
    for client, extra in callers(world):
        for field in ("memory_ids", "document_ids"):
            for query in ("", SWORDFISH):
                body: Record = {"query": query, **extra}
                answers = [search(client, **body, **{field: ids[field]}) for ids in (foreign, UNKNOWN)]
                assert answers[0] == answers[1]
                assert not [result for result in answers[0] if result["source_type"] == field.split("_", 1)[0]]


def test_the_owner_and_the_admin_do_find_it(world: World) -> None:
    """Else the tests above would show nothing."""
    b: Record = {"project_id": world.cast.project_b.public_id}
    for client, extra in [(world.cast.b, {}), (world.cast.b, b), (world.cast.admin, {}), (world.cast.admin, b)]:
        for body in filters_for_the_secret(world):
            for query in ("", SWORDFISH):
                assert SWORDFISH in contents(search(client, query=query, limit=1_000, **body, **extra))


def test_the_scope_without_a_project(world: World) -> None:
    everything = search(world.cast.admin, query=SWORDFISH, memory_tags=["*"], limit=1_000)
    assert contents(everything)[:2] == [SWORDFISH, SWORDFISH]
    mine = search(world.cast.a, query=SWORDFISH, memory_tags=["*"], limit=1_000)
    assert mine == [result for result in everything if result["content"] != SWORDFISH]
    assert search(world.cast.outsider, query=SWORDFISH, memory_tags=["*"]) == []


@pytest.mark.parametrize("body", [{"query": "x"}, {"memory_tags": ["*"]}, {"document_paths": ["/"]}, {"zzz": 1}, {}])
def test_a_project_that_is_not_granted(world: World, body: dict[str, Any]) -> None:
    cast = world.cast
    b = cast.project_b.public_id

    def refused(client: APIClient, project: str, code: str) -> None:
        assert_error(client.post(SEARCH, {**body, "project_id": project}, format="json"), 403, code)

    refused(cast.a, b, "API_KEY_PROJECT_SCOPE")
    refused(cast.a, "proj_doesnotexist0000", "API_KEY_PROJECT_SCOPE")
    refused(cast.admin, "proj_doesnotexist0000", "FORBIDDEN")
    refused(cast.outsider, b, "FORBIDDEN")
    refused(cast.outsider, "proj_doesnotexist0000", "FORBIDDEN")
    assert_error(cast.anonymous.post(SEARCH, {**body, "project_id": b}, format="json"), 401, "UNAUTHORIZED")


def test_an_admins_bound_key_is_bound(world: World) -> None:
    admin = User.objects.get(pk=world.cast.admin_user.pk)
    key = client_with(create_api_key(user_id=admin.pk, name="bound", project=world.cast.project_a)[1])
    assert SWORDFISH not in contents(search(key, query=SWORDFISH, memory_tags=["*"], limit=1_000))
    free = client_with(create_api_key(user_id=admin.pk, name="free", project=None)[1])
    assert SWORDFISH in contents(search(free, query=SWORDFISH, memory_tags=["*"], limit=1_000))


@pytest.mark.parametrize("query", ["", SWORDFISH])
def test_no_project_is_no_result_and_no_question_to_the_model(
    world: World, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    def unwanted(text: str) -> None:
        raise AssertionError("The query of a caller without any project was embedded.")

    monkeypatch.setattr("knowledge.search.embed_query", unwanted)
    wanted = Search(query=query, memory_tags=("*",), document_paths=("/",))
    for scope in (NO_PROJECT, ProjectScope(everything=False, ids=())):
        assert search_knowledge(scope=scope, search=wanted) == []


@pytest.mark.parametrize("query", ["", "swordfish"])
def test_a_scope_of_several_projects(world: World, query: str) -> None:
    a, b = world.cast.project_a.pk, world.cast.project_b.pk
    wanted = Search(query=query, limit=1_000, memory_tags=("*",), document_paths=("/",))

    def found(*projects: int) -> set[str]:
        scope = ProjectScope(everything=False, ids=projects)
        return {result.id for result in search_knowledge(scope=scope, search=wanted)}

    assert found(a)
    assert found(b)
    assert found(a, b) == found(a) | found(b)
    assert not found(a) & found(b)
    assert found(max(a, b) + 1) == set()
