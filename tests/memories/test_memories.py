"""Memories over REST: create, read, change, delete, list."""

import re

import pytest
from django.db.models import F

from memories.models import EntryVector, Memory, MemoryEntry
from tests.conftest import Cast
from tests.memories.rest import ENTRIES, MEMORIES, UNKNOWN_MEMORY, Record, assert_error, new_memory, write

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_a_memory_comes_back_as_it_was_created(cast: Cast) -> None:
    record = new_memory(cast.a, name="Prefs", description="User prefs", tags=["customer-1", "support"])
    assert re.fullmatch(r"mem_[A-Za-z0-9]{16}", record["id"])
    assert TIME.fullmatch(record["created_at"])
    assert record == {
        "id": record["id"],
        "project_id": cast.project_a.public_id,
        "name": "Prefs",
        "description": "User prefs",
        "tags": ["customer-1", "support"],
        "created_at": record["created_at"],
        "updated_at": record["created_at"],
    }
    assert cast.a.get(f"{MEMORIES}/{record['id']}").json() == record


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, {}),
        ({"description": None, "tags": None}, {}),
        ({"tags": []}, {}),
        ({"description": ""}, {"description": ""}),
        ({"tags": ["b", "a", "b"]}, {"tags": ["b", "a", "b"]}),
        ({"tags": ["cafe\u0301"]}, {"tags": ["caf\u00e9"]}),
        ({"name": "cafe\u0301"}, {"name": "caf\u00e9"}),
    ],
)
def test_what_has_no_value_is_left_out(cast: Cast, fields: Record, shown: Record) -> None:
    record = new_memory(cast.a, **fields)
    always = {"id", "project_id", "name", "created_at", "updated_at"}
    assert set(record) == always | set(shown)
    assert {name: record[name] for name in shown} == shown


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ({"name": "New"}, {"name": "New", "description": "d", "tags": ["t"]}),
        ({"description": "other"}, {"name": "Old", "description": "other", "tags": ["t"]}),
        ({"description": None}, {"name": "Old", "tags": ["t"]}),
        ({"description": ""}, {"name": "Old", "description": "", "tags": ["t"]}),
        ({"tags": None}, {"name": "Old", "description": "d"}),
        ({"tags": []}, {"name": "Old", "description": "d"}),
        ({"tags": ["x", "y"]}, {"name": "Old", "description": "d", "tags": ["x", "y"]}),
        ({"description": None, "tags": None, "name": "All"}, {"name": "All"}),
    ],
)
def test_a_put_changes_what_it_names(cast: Cast, body: Record, after: Record) -> None:
    before = new_memory(cast.a, name="Old", description="d", tags=["t"])
    answer = cast.a.put(f"{MEMORIES}/{before['id']}", body, format="json")
    assert answer.status_code == 200
    record = answer.json()
    assert {name: record[name] for name in ("name", "description", "tags") if name in record} == after
    assert record["updated_at"] > before["updated_at"]
    assert record["created_at"] == before["created_at"]
    assert cast.a.get(f"{MEMORIES}/{before['id']}").json() == record


@pytest.mark.parametrize("body", [{}, {"name": "Old"}, {"description": "d", "tags": ["t"]}])
def test_a_put_that_changes_nothing_leaves_updated_at_alone(cast: Cast, body: Record) -> None:
    before = new_memory(cast.a, name="Old", description="d", tags=["t"])
    answer = cast.a.put(f"{MEMORIES}/{before['id']}", body, format="json")
    assert (answer.status_code, answer.json()) == (200, before)


def test_a_delete_takes_entries_and_vectors_along_and_nothing_else(cast: Cast) -> None:
    gone, kept = new_memory(cast.a), new_memory(cast.a)
    first = write(cast.a, gone["id"], "Alice likes tea")
    old = write(cast.a, gone["id"], "Bob lives in Rome")
    stays = write(cast.a, kept["id"], "Alice likes tea")
    superseding = MemoryEntry.objects.get(public_id=first["id"])
    MemoryEntry.objects.filter(public_id=old["id"]).update(
        invalidated_at=superseding.created_at, superseded_by=superseding
    )
    assert cast.a.delete(f"{MEMORIES}/{gone['id']}").status_code == 204
    assert_error(cast.a.delete(f"{MEMORIES}/{gone['id']}"), 404, "RESOURCE_NOT_FOUND")
    assert_error(cast.a.get(f"{ENTRIES}/{first['id']}"), 404, "RESOURCE_NOT_FOUND")
    assert_error(cast.a.get(ENTRIES, {"memory_id": gone["id"]}), 404, "RESOURCE_NOT_FOUND")
    assert list(MemoryEntry.objects.values_list("public_id", flat=True)) == [stays["id"]]
    assert list(EntryVector.objects.values_list("entry__public_id", flat=True)) == [stays["id"]]


@pytest.mark.parametrize(("method", "body"), [("get", None), ("put", {"name": "x"}), ("delete", None)])
def test_a_foreign_memory_is_an_unknown_one(cast: Cast, method: str, body: Record | None) -> None:
    foreign = new_memory(cast.b)["id"]
    answers = []
    for caller, target in [
        (cast.a, foreign),
        (cast.a, UNKNOWN_MEMORY),
        (cast.a, "12345"),
        (cast.outsider, foreign),
        (cast.outsider, UNKNOWN_MEMORY),
    ]:
        answer = getattr(caller, method)(f"{MEMORIES}/{target}", body, format="json")
        assert_error(answer, 404, "RESOURCE_NOT_FOUND")
        answers.append(answer.json())
    assert all(answer == answers[0] for answer in answers)
    assert Memory.objects.get(public_id=foreign).name == "Facts"
    assert_error(getattr(cast.anonymous, method)(f"{MEMORIES}/{foreign}"), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    ("method", "path"), [("patch", f"{MEMORIES}/mem_x"), ("delete", MEMORIES), ("put", MEMORIES), ("patch", ENTRIES)]
)
def test_other_methods_are_not_allowed(cast: Cast, method: str, path: str) -> None:
    assert_error(getattr(cast.a, method)(path, {}, format="json"), 405, "METHOD_NOT_ALLOWED")


def test_creating_in_a_project_that_is_not_granted(cast: Cast) -> None:
    b = cast.project_b.public_id
    assert_error(
        cast.a.post(MEMORIES, {"name": "x", "project_id": b}, format="json"),
        403,
        "API_KEY_PROJECT_SCOPE",
        scoped_project=cast.project_a.public_id,
        requested_project=b,
    )
    for project in (b, "proj_doesnotexist0000"):
        answer = cast.outsider.post(MEMORIES, {"name": "x", "project_id": project}, format="json")
        assert_error(answer, 403, "FORBIDDEN")
    assert_error(cast.admin.post(MEMORIES, {"name": "x", "project_id": "proj_x"}, format="json"), 403, "FORBIDDEN")
    assert_error(cast.admin.post(MEMORIES, {"name": "x"}, format="json"), 400, "VALIDATION_FAILED")
    assert new_memory(cast.admin, project_id=b)["project_id"] == b
    assert new_memory(cast.b, project_id=b)["project_id"] == b
    assert Memory.objects.exclude(project=cast.project_b).count() == 0


def test_the_list_is_newest_first_and_within_the_scope(cast: Cast) -> None:
    mine = [new_memory(cast.a, name=f"m{number}")["id"] for number in range(5)]
    theirs = new_memory(cast.b)["id"]
    Memory.objects.filter(project=cast.project_a).update(created_at=Memory.objects.get(public_id=mine[0]).created_at)
    page = cast.a.get(MEMORIES).json()
    assert [row["id"] for row in page["data"]] == mine[::-1]
    assert (page["total"], page["limit"], page["offset"]) == (5, 50, 0)
    walked = [row["id"] for offset in (0, 2, 4) for row in _page(cast, limit=2, offset=offset)]
    assert walked == mine[::-1]
    assert {row["id"] for row in cast.admin.get(MEMORIES).json()["data"]} == {*mine, theirs}
    by_project = cast.admin.get(MEMORIES, {"project_id": cast.project_b.public_id}).json()
    assert [row["id"] for row in by_project["data"]] == [theirs]
    assert cast.outsider.get(MEMORIES).json() == {"data": [], "total": 0, "limit": 50, "offset": 0}
    for project, code in [(cast.project_b.public_id, "API_KEY_PROJECT_SCOPE"), ("proj_x", "API_KEY_PROJECT_SCOPE")]:
        assert_error(cast.a.get(MEMORIES, {"project_id": project}), 403, code)
    assert_error(cast.admin.get(MEMORIES, {"project_id": "proj_x"}), 403, "FORBIDDEN")
    assert_error(cast.outsider.get(MEMORIES, {"project_id": cast.project_a.public_id}), 403, "FORBIDDEN")


def _page(cast: Cast, **query: int) -> list[Record]:
    rows: list[Record] = cast.a.get(MEMORIES, query).json()["data"]
    return rows


@pytest.mark.parametrize(
    ("query", "limit", "offset"),
    [
        ({}, 50, 0),
        ({"limit": "0"}, 1, 0),
        ({"limit": "-5"}, 50, 0),
        ({"limit": "1000"}, 100, 0),
        ({"limit": "abc", "offset": "xyz"}, 50, 0),
        ({"limit": "1.5", "offset": "-1"}, 50, 0),
        ({"limit": "", "offset": ""}, 50, 0),
    ],
)
def test_page_parameters_are_never_an_error(cast: Cast, query: Record, limit: int, offset: int) -> None:
    page = cast.a.get(MEMORIES, query).json()
    assert (page["limit"], page["offset"]) == (limit, offset)


TAGGED = {
    "customer": ["customer-1", "support"],
    "Customer": ["Customer-2"],
    "percent": ["100%"],
    "hundred": ["100x"],
    "snake": ["a_b"],
    "dash": ["a-b"],
    "bracket": ["[ab]"],
    "letter": ["a"],
    "backslash": ["a\\b"],
    "accent": ["\u00c4rzte"],
    "untagged": [],
}


@pytest.mark.parametrize(
    ("globs", "names"),
    [
        (["cust*"], {"customer", "Customer"}),
        (["CUSTOMER-?"], {"customer", "Customer"}),
        (["customer-1"], {"customer"}),
        (["customer"], set()),
        (["100%"], {"percent"}),
        (["100?"], {"percent", "hundred"}),
        (["a_b"], {"snake"}),
        (["a?b"], {"snake", "dash", "backslash"}),
        (["[ab]"], {"bracket"}),
        (["a\\b"], {"backslash"}),
        (["a\\"], set()),
        (["?"], {"letter"}),
        (["\u00e4RZTE"], {"accent"}),
        (["a\u0308rzte"], {"accent"}),
        (["\u00e4r**"], {"accent"}),
        (["*"], set(TAGGED) - {"untagged"}),
        (["support", "100%"], {"customer", "percent"}),
        (["nothing", "x' OR '1'='1"], set()),
    ],
)
def test_the_list_is_narrowed_by_tag_globs(cast: Cast, globs: list[str], names: set[str]) -> None:
    Memory.objects.bulk_create(Memory(project=cast.project_a, name=name, tags=tags) for name, tags in TAGGED.items())
    Memory.objects.create(
        project=cast.project_b, name="foreign", tags=[tag for tags in TAGGED.values() for tag in tags]
    )
    page = cast.a.get(MEMORIES, {"tags": globs}).json()
    assert {row["name"] for row in page["data"]} == names
    assert page["total"] == len(names)


def test_entries_do_not_move_their_memory(cast: Cast) -> None:
    memory = new_memory(cast.a)
    entry = write(cast.a, memory["id"], "Alice likes tea")
    cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": "Alice likes coffee"}, format="json")
    cast.a.delete(f"{ENTRIES}/{entry['id']}")
    assert cast.a.get(f"{MEMORIES}/{memory['id']}").json() == memory


def test_both_times_of_a_new_memory_are_one(cast: Cast) -> None:
    new_memory(cast.a)
    assert Memory.objects.filter(updated_at=F("created_at")).count() == 1
