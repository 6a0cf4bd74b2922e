"""Projects: an admin sees all, a bound key its own, another user none."""

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from soat.tenancy.access import Caller, ProjectScope, require_admin
from soat.tenancy.models import Project
from tests.api.answers import body_of, error_of, names_field, rows_of
from tests.conftest import Cast

PROJECTS = "/api/v1/projects"
NOWHERE = f"{PROJECTS}/proj_doesnotexist0000"


def ids(response: Any) -> list[str]:
    return [row["id"] for row in rows_of(response)]


def test_each_caller_lists_what_it_may_read(cast: Cast) -> None:
    a, b = cast.project_a.public_id, cast.project_b.public_id
    assert ids(cast.admin.get(PROJECTS)) == [b, a]
    assert ids(cast.a.get(PROJECTS)) == [a]
    assert ids(cast.b.get(PROJECTS)) == [b]
    assert ids(cast.outsider.get(PROJECTS)) == []
    error_of(cast.anonymous.get(PROJECTS), 401, "UNAUTHORIZED")


def test_a_foreign_project_is_exactly_as_an_unknown_one(cast: Cast) -> None:
    foreign = f"{PROJECTS}/{cast.project_b.public_id}"
    for client in (cast.a, cast.outsider):
        for method, body in (("GET", ""), ("PATCH", '{"name": "x"}')):
            known, unknown = (
                client.generic(method, path, body, content_type="application/json") for path in (foreign, NOWHERE)
            )
            error_of(known, 404, "RESOURCE_NOT_FOUND")
            assert known.content == unknown.content
    error_of(cast.admin.get(NOWHERE), 404, "RESOURCE_NOT_FOUND")
    cast.project_b.refresh_from_db()
    assert cast.project_b.name == "Project B"


def test_an_admin_makes_reads_and_renames(cast: Cast) -> None:
    made = body_of(cast.admin.post(PROJECTS, {"name": "e\u0301 "}, format="json"), 201)
    assert set(made) == {"id", "name", "created_at", "updated_at"}
    assert made["name"] == "é "
    path = f"{PROJECTS}/{made['id']}"
    assert body_of(cast.admin.get(path)) == made
    renamed = body_of(cast.admin.patch(path, {"name": "new"}, format="json"))
    assert renamed["updated_at"] > made["updated_at"]
    assert renamed == {**made, "name": "new", "updated_at": renamed["updated_at"]}
    assert body_of(cast.admin.patch(path, {}, format="json")) == renamed


def test_a_bound_key_reads_and_renames_its_own(cast: Cast) -> None:
    path = f"{PROJECTS}/{cast.project_a.public_id}"
    assert body_of(cast.a.get(path))["name"] == "Project A"
    assert body_of(cast.a.patch(path, {"name": "mine"}, format="json"))["name"] == "mine"


def test_only_an_admin_s_own_session_makes_projects(cast: Cast) -> None:
    for client in (cast.a, cast.outsider):
        for body in ({"name": "x"}, {}, {"nope": 1}):
            error_of(client.post(PROJECTS, body, format="json"), 403, "FORBIDDEN")
        error_of(client.post(PROJECTS, "{", content_type="application/json"), 403, "FORBIDDEN")
    error_of(cast.anonymous.post(PROJECTS, {"nope": 1}, format="json"), 401, "UNAUTHORIZED")
    assert Project.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"name": " "}, "name"),
        ({"name": 5}, "name"),
        ({"name": "a" * 256}, "name"),
        ({"name": "a\x00"}, "name"),
        ({"name": "x", "nope": 1}, "nope"),
    ],
)
def test_what_does_not_fit_is_named(cast: Cast, body: dict[str, Any], field: str) -> None:
    assert names_field(cast.admin.post(PROJECTS, body, format="json"), field)


@pytest.mark.parametrize("body", [{"name": ""}, {"name": None}, {"name": 5}, {"nope": 1}])
def test_a_change_that_does_not_fit_is_named_before_the_id_is_looked_up(cast: Cast, body: dict[str, Any]) -> None:
    for path in (f"{PROJECTS}/{cast.project_a.public_id}", NOWHERE):
        assert names_field(cast.admin.patch(path, body, format="json"), next(iter(body)))


def test_pages_neither_repeat_nor_skip(cast: Cast) -> None:
    moment = timezone.now()
    Project.objects.bulk_create(Project(name=f"{number}", created_at=moment) for number in range(7))
    whole = ids(cast.admin.get(f"{PROJECTS}?limit=100"))
    assert len(set(whole)) == 9
    paged = [row for offset in range(0, 9, 2) for row in ids(cast.admin.get(f"{PROJECTS}?limit=2&offset={offset}"))]
    assert paged == whole
    assert whole[:7] == list(Project.objects.order_by("-id").values_list("public_id", flat=True)[:7])
    beyond = body_of(cast.admin.get(f"{PROJECTS}?limit=1000&offset=50"))
    assert beyond == {"data": [], "total": 9, "limit": 100, "offset": 50}


def test_a_list_costs_the_same_whatever_its_length(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    Project.objects.bulk_create(Project(name=f"{number}") for number in range(30))
    cast.admin.get(PROJECTS)
    with django_assert_num_queries(3):
        cast.admin.get(PROJECTS)


def caller(cast: Cast, **changes: Any) -> Caller:
    admin = cast.admin_user
    return Caller(**{"user_id": admin.pk, "user_public_id": admin.public_id, "is_admin": True, **changes})


def test_what_a_caller_may_see_follows_from_the_caller_alone(cast: Cast) -> None:
    a, b = cast.project_a, cast.project_b
    admin = caller(cast).access("projects:GetProject")
    bound = caller(cast, project_id=a.pk, project_public_id=a.public_id).access("projects:GetProject")
    nobody = caller(cast, is_admin=False).access("projects:GetProject")
    assert set(admin.rows(Project.objects.all())) == {a, b}
    assert list(bound.rows(Project.objects.all())) == [a]
    assert list(nobody.rows(Project.objects.all())) == []
    assert [access.allows(b) for access in (admin, bound, nobody)] == [True, False, False]
    assert [access.opens(a.pk) for access in (admin, bound, nobody)] == [True, True, False]
    assert [access.opens(None) for access in (admin, bound, nobody)] == [True, False, False]
    assert list(admin.reach(b.public_id).of(Project).filter(Project.objects.all(), "id")) == [b]
    assert bound.project(None) == a
    require_admin(caller(cast))


def test_a_scope_of_nothing_keeps_nothing(cast: Cast, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        assert list(ProjectScope(everything=False).filter(Project.objects.all(), "id")) == []
    both = ProjectScope(everything=False, ids=(cast.project_a.pk, cast.project_b.pk))
    assert both.filter(Project.objects.all(), "id").count() == 2
