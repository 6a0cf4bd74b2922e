"""What policies let through, as a client sees it: lists, rows, changes, keys."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from soat.tenancy.models import Policy, Project, User
from tests.api.answers import body_of, error_of, rows_of
from tests.conftest import Cast
from tests.tenancy.policies import allow, caller_with, deny, key_with, policy, session_of, user_with

MEMORIES, ENTRIES, DOCUMENTS, FILES = (
    f"/api/v1/{name}" for name in ("memories", "memory-entries", "documents", "files")
)


def post(client: APIClient, at: str, /, **body: Any) -> Any:
    return client.post(at, body, format="json")


def memory(client: APIClient, project: Project, name: str = "m", *tags: str) -> str:
    return str(body_of(post(client, MEMORIES, project_id=project.public_id, name=name, tags=list(tags)), 201)["id"])


def document(client: APIClient, project: Project, path: str, **tags: str) -> str:
    body = {"project_id": project.public_id, "content": f"The text of {path}.", "path": path, "tags": tags}
    return str(body_of(post(client, DOCUMENTS, **body), 201)["id"])


def ids(client: APIClient, path: str) -> set[str]:
    rows = rows_of(client.get(path))
    return {row["id"] for row in rows}


def test_without_a_policy_there_is_nothing(cast: Cast) -> None:
    found = memory(cast.admin, cast.project_a)
    nobody = caller_with()
    assert (
        ids(nobody, MEMORIES)
        == ids(nobody, DOCUMENTS)
        == ids(nobody, FILES)
        == ids(nobody, "/api/v1/projects")
        == set()
    )
    error_of(nobody.get(f"{MEMORIES}/{found}"), 404, "RESOURCE_NOT_FOUND")
    error_of(post(nobody, MEMORIES, project_id=cast.project_a.public_id, name="x"), 403, "FORBIDDEN")
    error_of(post(nobody, MEMORIES, name="x"), 403, "FORBIDDEN")
    error_of(nobody.get(f"{MEMORIES}?project_id={cast.project_a.public_id}"), 403, "FORBIDDEN")


def test_a_policy_opens_its_project_and_no_other(cast: Cast) -> None:
    a, b = cast.project_a, cast.project_b
    in_a, in_b = memory(cast.admin, a), memory(cast.admin, b)
    client = caller_with(allow("memories:*", "projects:*", on=f"srn:{a.public_id}:*:*"))
    assert ids(client, MEMORIES) == {in_a}
    assert ids(client, "/api/v1/projects") == {a.public_id}
    body_of(client.get(f"{MEMORIES}/{in_a}"))
    error_of(client.get(f"{MEMORIES}/{in_b}"), 404, "RESOURCE_NOT_FOUND")
    assert memory(client, a)
    error_of(post(client, MEMORIES, project_id=b.public_id, name="x"), 403, "FORBIDDEN")
    error_of(post(client, MEMORIES, project_id="proj_doesnotexist0000", name="x"), 403, "FORBIDDEN")
    error_of(post(client, MEMORIES, name="x"), 400)
    error_of(client.get(f"{DOCUMENTS}?project_id={a.public_id}"), 403, "FORBIDDEN")


def test_what_may_be_read_but_not_changed_is_forbidden_and_what_may_not_be_read_is_unknown(cast: Cast) -> None:
    found, hidden = memory(cast.admin, cast.project_a), memory(cast.admin, cast.project_a)
    client = caller_with(
        allow("memories:GetMemory", "memories:ListMemories", on=f"srn:*:memory:{found}"), allow("memories:DeleteMemory")
    )
    error_of(client.put(f"{MEMORIES}/{found}", {"name": "x"}, format="json"), 403, "FORBIDDEN")
    error_of(client.put(f"{MEMORIES}/{hidden}", {"name": "x"}, format="json"), 404, "RESOURCE_NOT_FOUND")
    error_of(client.delete(f"{MEMORIES}/{hidden}"), 404, "RESOURCE_NOT_FOUND")
    assert client.delete(f"{MEMORIES}/{found}").status_code == 204
    assert ids(client, MEMORIES) == set()
    assert body_of(cast.admin.get(f"{MEMORIES}/{hidden}"))["name"] == "m"


def test_a_policy_that_says_nothing_of_reading_leaves_it_to_the_action(cast: Cast) -> None:
    found = memory(cast.admin, cast.project_a)
    writer = caller_with(allow("memories:CreateMemoryEntry", on=f"srn:*:memory:{found}"))
    body_of(post(writer, ENTRIES, memory_id=found, content="The sky is blue."), 201)
    error_of(writer.get(f"{MEMORIES}/{found}"), 404, "RESOURCE_NOT_FOUND")
    other = memory(cast.admin, cast.project_a)
    error_of(post(writer, ENTRIES, memory_id=other, content="x"), 404, "RESOURCE_NOT_FOUND")
    denied = caller_with_named("denied", allow("memories:CreateMemoryEntry"), deny("memories:GetMemory"))
    error_of(post(denied, ENTRIES, memory_id=found, content="x"), 404, "RESOURCE_NOT_FOUND")


def caller_with_named(name: str, *statements: dict[str, Any]) -> APIClient:
    return session_of(user_with(*statements, username=name))


def test_lists_totals_and_pages_keep_to_paths_and_tags(cast: Cast) -> None:
    a = cast.project_a
    public = [document(cast.admin, a, f"/public/{number}.txt") for number in range(5)]
    document(cast.admin, a, "/publicity.txt")
    secret = document(cast.admin, a, "/public/secret.txt", secret="yes")
    client = caller_with(
        allow("documents:*", on=f"srn:{a.public_id}:document:/public/*"),
        deny("documents:*", StringEquals={"soat:ResourceTag/secret": "yes"}),
    )
    pages = [body_of(client.get(f"{DOCUMENTS}?limit=2&offset={offset}")) for offset in (0, 2, 4)]
    assert {page["total"] for page in pages} == {5}
    assert [row["id"] for page in pages for row in page["data"]] == public[::-1]
    for path in ("", "/status", "/tags"):
        error_of(client.get(f"{DOCUMENTS}/{secret}{path}"), 404, "RESOURCE_NOT_FOUND")
    error_of(client.delete(f"{DOCUMENTS}/{secret}"), 404, "RESOURCE_NOT_FOUND")


def test_nothing_is_moved_into_or_out_of_what_is_granted(cast: Cast) -> None:
    a = cast.project_a
    found = document(cast.admin, a, "/team/x.txt", team="blue")
    client = caller_with(
        allow("documents:*", on=f"srn:{a.public_id}:document:/team/*", StringLike={"soat:ResourceTag/team": "b*"})
    )
    path = f"{DOCUMENTS}/{found}"
    changes: list[dict[str, Any]] = [{"path": "/other/x.txt"}, {"path": None}, {"tags": {"team": "red"}}, {"tags": {}}]
    for change in changes:
        error_of(client.patch(path, change, format="json"), 403, "FORBIDDEN")
    error_of(client.put(f"{path}/tags", {"team": "red"}, format="json"), 403, "FORBIDDEN")
    error_of(client.put(f"{path}/tags", {}, format="json"), 403, "FORBIDDEN")
    assert body_of(client.patch(f"{path}/tags", {"size": "small"}, format="json")) == {"team": "blue", "size": "small"}
    assert body_of(client.patch(path, {"path": "/team/y.txt", "title": "t"}, format="json"))["path"] == "/team/y.txt"
    new = {"project_id": a.public_id, "content": "x"}
    error_of(post(client, DOCUMENTS, **new, path="/team/z.txt"), 403, "FORBIDDEN")
    error_of(post(client, DOCUMENTS, **new, path="/z.txt", tags={"team": "blue"}), 403, "FORBIDDEN")
    body_of(post(client, DOCUMENTS, **new, path="/team/z.txt", tags={"team": "blue"}), 201)
    assert cast.admin.get(DOCUMENTS).json()["total"] == 2


def test_memories_and_entries_are_narrowed_by_their_tags(cast: Cast) -> None:
    blue, red = (
        memory(cast.admin, cast.project_a, "blue", "team:blue"),
        memory(cast.admin, cast.project_a, "red", "team:red"),
    )
    kept = body_of(post(cast.admin, ENTRIES, memory_id=blue, content="Blue is calm."), 201)["id"]
    hidden = body_of(post(cast.admin, ENTRIES, memory_id=blue, content="The safe is open.", tags=["secret"]), 201)["id"]
    other = body_of(post(cast.admin, ENTRIES, memory_id=red, content="Red is loud."), 201)["id"]
    client = caller_with(
        allow("memories:*", StringEquals={"soat:ResourceTag/team": "blue"}),
        deny("memories:*", StringLike={"soat:ResourceTag/secret": "*"}),
    )
    assert ids(client, MEMORIES) == {blue}
    page = body_of(client.get(f"{ENTRIES}?memory_id={blue}"))
    assert ([row["id"] for row in page["data"]], page["total"]) == ([kept], 1)
    error_of(client.get(f"{ENTRIES}?memory_id={red}"), 404, "RESOURCE_NOT_FOUND")
    for entry in (hidden, other):
        error_of(client.get(f"{ENTRIES}/{entry}"), 404, "RESOURCE_NOT_FOUND")
    error_of(client.put(f"{ENTRIES}/{kept}", {"tags": ["secret"]}, format="json"), 403, "FORBIDDEN")
    error_of(post(client, ENTRIES, memory_id=blue, content="A new one.", tags=["secret:x"]), 403, "FORBIDDEN")
    error_of(client.put(f"{MEMORIES}/{blue}", {"tags": []}, format="json"), 403, "FORBIDDEN")
    body_of(client.put(f"{ENTRIES}/{kept}", {"tags": ["ui"]}, format="json"))


def test_a_statement_about_a_memory_covers_its_entries(cast: Cast) -> None:
    found, other = memory(cast.admin, cast.project_a), memory(cast.admin, cast.project_a)
    inside = body_of(post(cast.admin, ENTRIES, memory_id=found, content="Inside."), 201)["id"]
    outside = body_of(post(cast.admin, ENTRIES, memory_id=other, content="Outside."), 201)["id"]
    client = caller_with(allow("memories:*", on=f"srn:*:memory:{found}"))
    body_of(client.get(f"{ENTRIES}/{inside}"))
    error_of(client.get(f"{ENTRIES}/{outside}"), 404, "RESOURCE_NOT_FOUND")
    body_of(post(client, ENTRIES, memory_id=found, content="A second one."), 201)
    denied = caller_with_named("denied", allow(), deny("memories:GetMemory", on=f"srn:*:memory:{found}"))
    error_of(denied.get(f"{ENTRIES}/{inside}"), 404, "RESOURCE_NOT_FOUND")
    body_of(denied.get(f"{ENTRIES}/{outside}"))


def test_entries_may_be_listed_in_a_memory_where_only_some_are_granted(cast: Cast) -> None:
    found = memory(cast.admin, cast.project_a)
    first = body_of(post(cast.admin, ENTRIES, memory_id=found, content="Inside."), 201)["id"]
    body_of(post(cast.admin, ENTRIES, memory_id=found, content="Beside."), 201)
    client = caller_with(
        allow("memories:GetMemory"), allow("memories:ListMemoryEntries", on=f"srn:*:memory-entry:{first}")
    )
    assert ids(client, f"{ENTRIES}?memory_id={found}") == {first}
    none = caller_with_named("none", allow("memories:GetMemory"))
    error_of(none.get(f"{ENTRIES}?memory_id={found}"), 403, "FORBIDDEN")


def test_a_key_has_what_its_owner_and_its_own_policies_both_allow(cast: Cast) -> None:
    a, b = cast.project_a, cast.project_b
    in_a, in_b = memory(cast.admin, a), memory(cast.admin, b)
    owner = user_with(allow("memories:*", "documents:*", on=f"srn:{a.public_id}:*:*"))
    _, plain = key_with(owner)
    _, reader = key_with(owner, allow("memories:GetMemory", "memories:ListMemories"))
    _, elsewhere = key_with(owner, allow(on=f"srn:{b.public_id}:*:*"))
    _, bound = key_with(owner, project=b)
    assert [ids(client, MEMORIES) for client in (plain, reader, elsewhere, bound)] == [{in_a}, {in_a}, set(), set()]
    body_of(plain.put(f"{MEMORIES}/{in_a}", {"name": "x"}, format="json"))
    error_of(reader.put(f"{MEMORIES}/{in_a}", {"name": "y"}, format="json"), 403, "FORBIDDEN")
    for client in (plain, reader, elsewhere, bound):
        error_of(client.get(f"{MEMORIES}/{in_b}"), 404, "RESOURCE_NOT_FOUND")
    error_of(post(bound, MEMORIES, name="x"), 403, "FORBIDDEN")


def test_the_policies_of_an_admin_s_key_narrow_it(cast: Cast) -> None:
    in_a, in_b = memory(cast.admin, cast.project_a), memory(cast.admin, cast.project_b)
    _, client = key_with(cast.admin_user, allow("memories:*", on=f"srn:{cast.project_a.public_id}:*:*"))
    assert ids(client, MEMORIES) == {in_a}
    error_of(client.get(f"{MEMORIES}/{in_b}"), 404, "RESOURCE_NOT_FOUND")
    error_of(post(client, "/api/v1/projects", name="x"), 403, "FORBIDDEN")
    _, bound = key_with(cast.admin_user, allow("memories:*"), project=cast.project_b)
    assert ids(bound, MEMORIES) == {in_b}


def test_a_deleted_policy_never_widens_a_key(cast: Cast) -> None:
    memory(cast.admin, cast.project_a)
    key, client = key_with(cast.admin_user, allow("memories:*"))
    assert len(ids(client, MEMORIES)) == 1
    Policy.objects.filter(api_keys=key).delete()
    assert ids(client, MEMORIES) == set()
    error_of(post(client, MEMORIES, project_id=cast.project_a.public_id, name="x"), 403, "FORBIDDEN")


def test_a_changed_or_detached_policy_counts_at_once(cast: Cast) -> None:
    memory(cast.admin, cast.project_a)
    user = user_with(allow("memories:*"))
    client = session_of(user)
    assert len(ids(client, MEMORIES)) == 1
    attached = user.policies.get()
    attached.document = {"statement": [allow("documents:*")]}
    attached.save()
    assert ids(client, MEMORIES) == set()
    user.policies.add(policy(allow("memories:*")))
    assert len(ids(client, MEMORIES)) == 1
    user.policies.clear()
    assert ids(client, MEMORIES) == set()


def test_a_stored_policy_that_cannot_be_read_denies_everything(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    memory(cast.admin, cast.project_a)
    user = user_with(allow())
    user.policies.add(Policy.objects.create(document={"statement": [{"effect": "Perhaps"}]}))
    assert ids(session_of(user), MEMORIES) == set()
    assert "cannot be read" in caplog.text


def test_a_deny_of_everything_stops_also_what_has_no_row(cast: Cast) -> None:
    client = caller_with(allow(), deny("embeddings:*"))
    error_of(post(client, "/api/v1/embeddings", input="x"), 403, "FORBIDDEN")
    body_of(post(caller_with_named("other", allow("embeddings:*")), "/api/v1/embeddings", input="x"))


@pytest.mark.parametrize("statements", [0, 1, 20])
def test_a_request_with_a_key_and_policies_costs_one_query_more_than_its_own(cast: Cast, statements: int) -> None:
    """The key, its user, its project and all policies with the projects that they name come in one query."""
    found = memory(cast.admin, cast.project_a)
    granted = [allow("memories:*", on=f"srn:{cast.project_a.public_id}:*:*")] * statements
    owner = user_with(*granted) if statements else cast.admin_user
    for project in (None, cast.project_a):
        _, client = key_with(owner, *granted, project=project)
        client.get(f"{MEMORIES}/{found}")  # the first use of a key is noted
        with CaptureQueriesContext(connection) as queries:
            body_of(client.get(f"{MEMORIES}/{found}"))
        assert [("tenancy_apikey" in query["sql"], "memories_memory" in query["sql"]) for query in queries] == [
            (True, False),
            (False, True),
        ]


@pytest.mark.parametrize(
    ("path", "tables"),
    [
        (MEMORIES, ["memories_memory", "memories_memory"]),
        (DOCUMENTS, ["documents_document", "documents_document"]),
        (FILES, ["files_file", "files_file"]),
        ("/api/v1/projects", ["tenancy_project", "tenancy_project"]),
        (f"{ENTRIES}?memory_id={{memory}}", ["memories_memory", "memories_memoryentry", "memories_memoryentry"]),
        (f"{MEMORIES}/{{memory}}", ["memories_memory"]),
        (f"{DOCUMENTS}/{{document}}/tags", ["documents_document"]),
    ],
)
def test_what_a_request_reads(cast: Cast, path: str, tables: list[str]) -> None:
    """The caller, then the page and the total, whatever the caller's rights come from."""
    path = path.format(memory=memory(cast.admin, cast.project_a), document=document(cast.admin, cast.project_a, "/x"))
    granted = allow(on=f"srn:{cast.project_a.public_id}:*:*")
    narrow = [allow(on=f"srn:{cast.project_a.public_id}:*:*", StringNotEquals={"soat:ResourceTag/secret": "yes"})]
    owner = user_with(granted)
    _, own_policies = key_with(owner, *narrow)
    for client, first in (
        (cast.a, "tenancy_apikey"),
        (cast.admin, "tenancy_user"),
        (session_of(owner), "tenancy_user"),
        (own_policies, "tenancy_apikey"),
    ):
        body_of(client.get(path))
        with CaptureQueriesContext(connection) as queries:
            body_of(client.get(path))
        read = [_first_table(query["sql"]) for query in queries]
        assert read == [first, *tables]


def _first_table(sql: str) -> str:
    """Return the table that a statement is about: the last FROM outside of subqueries."""
    while (shorter := re.sub(r"\([^()]*\)", "", sql)) != sql:
        sql = shorter
    found = re.search(r'FROM "(\w+)"', sql)
    assert found is not None, sql
    return found[1]


def test_users_are_deleted_with_their_sessions(cast: Cast) -> None:
    user = user_with(allow())
    client = session_of(user)
    body_of(client.get("/api/v1/users/me"))
    User.objects.filter(pk=user.pk).delete()
    error_of(client.get("/api/v1/users/me"), 401, "UNAUTHORIZED")


def no_secrets(project: Project) -> APIClient:
    """Return a caller who may do everything in the project but with what is tagged as secret."""
    on = f"srn:{project.public_id}:*:*"
    return caller_with(allow(on=on), deny(StringEquals={"soat:ResourceTag/secret": "yes"}))


@pytest.mark.parametrize(
    ("content", "how"),
    [("The vault code is 4711", {}), ("the vault's code", {"duplicate_threshold": 0}), ("The vault code is 4711.", {})],
)
def test_a_fact_is_no_duplicate_of_one_that_its_writer_may_not_read(cast: Cast, content: str, how: Any) -> None:
    place = memory(cast.admin, cast.project_a)
    secret = {"memory_id": place, "content": "The vault code is 4711.", "tags": ["secret:yes"]}
    hidden = body_of(post(cast.admin, ENTRIES, **secret), 201)["id"]
    client = no_secrets(cast.project_a)
    answer = body_of(post(client, ENTRIES, memory_id=place, content=content, **how), 201)
    assert hidden not in str(answer)
    assert answer["reason"] == "no_candidate"
    assert "similarity" not in answer
    assert body_of(post(client, ENTRIES, memory_id=place, content=content, **how), 200)["id"] == answer["id"]
    assert body_of(post(cast.admin, ENTRIES, memory_id=place, content=secret["content"]), 200)["id"] == hidden


def test_a_refusal_names_no_document_that_the_caller_may_not_read(cast: Cast, eager_tasks: None) -> None:
    body = {"project_id": cast.project_a.public_id, "filename": "a.txt", "content": "YQ=="}
    file = body_of(post(cast.admin, f"{FILES}/upload/base64", **body), 201)["id"]
    asked = {"project_id": cast.project_a.public_id, "file_id": file}
    made = body_of(post(cast.admin, f"{DOCUMENTS}/ingest", **asked, tags={"secret": "yes"}), 202)["id"]
    refused = error_of(post(no_secrets(cast.project_a), f"{DOCUMENTS}/ingest", **asked), 409, "FILE_ALREADY_INGESTED")
    assert refused["meta"] == {"file_id": file}
    again = error_of(post(cast.admin, f"{DOCUMENTS}/ingest", **asked), 409, "FILE_ALREADY_INGESTED")
    assert again["meta"] == {"file_id": file, "document_id": made}


def test_the_file_that_a_text_made_is_tagged_as_the_text(cast: Cast) -> None:
    made = document(cast.admin, cast.project_a, "/a.txt", secret="yes")
    file = body_of(cast.admin.get(f"{DOCUMENTS}/{made}"))["file_id"]
    client = no_secrets(cast.project_a)
    for path in (f"{FILES}/{file}", f"{FILES}/{file}/download", f"{FILES}/{file}/tags"):
        error_of(client.get(path), 404, "RESOURCE_NOT_FOUND")
    assert ids(client, FILES) == set()
    for tags in ({"secret": "no"}, {"secret": "yes"}, {}):
        body_of(cast.admin.patch(f"{DOCUMENTS}/{made}", {"tags": tags}, format="json"))
        assert body_of(cast.admin.get(f"{FILES}/{file}/tags")) == tags
        assert (ids(client, FILES) == set()) == (tags.get("secret") == "yes")
    body_of(cast.admin.put(f"{DOCUMENTS}/{made}/tags", {"secret": "yes"}, format="json"))
    error_of(client.get(f"{FILES}/{file}/download"), 404, "RESOURCE_NOT_FOUND")


def test_the_policies_of_a_user_who_may_not_be_read_are_not_listed(cast: Cast) -> None:
    boss, worker = user_with(allow(), username="boss"), user_with(allow("memories:*"), username="clerk")
    path = "/api/v1/policies?user_id="
    client = caller_with(allow("policies:*", "users:*"), deny("users:GetUser", on=f"srn:*:user:{boss.public_id}"))
    error_of(client.get(f"/api/v1/users/{boss.public_id}"), 404, "RESOURCE_NOT_FOUND")
    assert body_of(client.get(path + boss.public_id)) == body_of(client.get(f"{path}user_0000000000000000"))
    assert ids(client, path + worker.public_id) == {policy.public_id for policy in worker.policies.all()}
