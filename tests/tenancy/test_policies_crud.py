"""Policies as rows: made, read, changed, deleted, and given to keys."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from soat.tenancy.models import ApiKey, Policy
from tests.api.answers import body_of, error_of, names_field, rows_of
from tests.conftest import Cast, client_with
from tests.tenancy.policies import allow, caller_with, deny, key_with, policy, session_of, user_with

POLICIES, KEYS, MEMORIES = (f"/api/v1/{name}" for name in ("policies", "api-keys", "memories"))
CONDITION = {"StringEquals": {"soat:ResourceTag/a B": "x"}}
DOCUMENT = {"statement": [{"effect": "Allow", "action": ["memories:*"], "condition": CONDITION}]}


def post(client: Any, path: str, body: dict[str, Any]) -> Any:
    return client.post(path, body, format="json")


def test_a_policy_is_stored_and_returned_as_it_came(cast: Cast) -> None:
    made = body_of(post(cast.admin, POLICIES, {"name": "n", "description": "d", "document": DOCUMENT}), 201)
    assert set(made) == {"id", "name", "description", "document", "created_at", "updated_at"}
    assert made["document"] == DOCUMENT
    path = f"{POLICIES}/{made['id']}"
    assert body_of(cast.admin.get(path)) == made
    assert rows_of(cast.admin.get(POLICIES)) == [made]
    other = {"statement": [allow("files:*")]}
    changed = body_of(cast.admin.put(path, {"document": other}, format="json"))
    assert (changed["document"], changed["name"], changed["description"]) == (other, "n", "d")
    cleared = body_of(cast.admin.put(path, {"document": other, "name": None, "description": None}, format="json"))
    assert (cleared["name"], cleared["description"]) == (None, None)
    assert cast.admin.delete(path).status_code == 204
    error_of(cast.admin.get(path), 404, "RESOURCE_NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "document"),
        ({"document": None}, "document"),
        ({"document": []}, "document"),
        ({"document": {}}, "document.statement"),
        ({"document": {"statement": [{"effect": "Allow"}]}}, "document.statement[0].action"),
        ({"document": {"statement": [allow("*") | {"x\x00": 1}]}}, "document"),
        ({"document": DOCUMENT, "name": "a" * 256}, "name"),
        ({"document": DOCUMENT, "name": 5}, "name"),
        ({"document": DOCUMENT, "nope": 1}, "nope"),
    ],
)
def test_what_does_not_fit_is_named(cast: Cast, body: dict[str, Any], field: str) -> None:
    kept = policy(allow())
    assert names_field(post(cast.admin, POLICIES, body), field)
    assert names_field(cast.admin.put(f"{POLICIES}/{kept.public_id}", body, format="json"), field)
    assert Policy.objects.count() == 1


def test_policies_are_no_rows_of_a_project(cast: Cast) -> None:
    kept = policy(allow())
    path = f"{POLICIES}/{kept.public_id}"
    in_a = caller_with(allow(on=f"srn:{cast.project_a.public_id}:*:*"))
    for client in (cast.outsider, cast.a, in_a):
        error_of(client.get(POLICIES), 403, "FORBIDDEN")
        error_of(post(client, POLICIES, {"document": DOCUMENT}), 403, "FORBIDDEN")
        for at in (path, f"{POLICIES}/pol_doesnotexist0000"):
            error_of(client.get(at), 404, "RESOURCE_NOT_FOUND")
            error_of(client.put(at, {"document": DOCUMENT}, format="json"), 404, "RESOURCE_NOT_FOUND")
            error_of(client.delete(at), 404, "RESOURCE_NOT_FOUND")
    reader = session_of(user_with(allow("policies:GetPolicy", "policies:ListPolicies"), username="reader"))
    assert body_of(reader.get(path))["id"] == kept.public_id
    error_of(reader.delete(path), 403, "FORBIDDEN")


def test_the_list_of_one_user(cast: Cast) -> None:
    user = user_with(allow("memories:*"))
    policy(allow())
    page = body_of(cast.admin.get(f"{POLICIES}?user_id={user.public_id}"))
    assert ([row["id"] for row in page["data"]], page["total"]) == ([user.policies.get().public_id], 1)
    assert rows_of(cast.admin.get(f"{POLICIES}?user_id=user_doesnotexist0000")) == []
    assert len(rows_of(cast.admin.get(POLICIES))) == 2


def test_the_policies_of_a_user_that_cannot_be_read_are_those_of_an_unknown_one(cast: Cast) -> None:
    hidden = user_with(allow(), username="hidden")
    lister = user_with(allow("policies:ListPolicies"), username="lister")
    client = session_of(lister)
    assert rows_of(client.get(f"{POLICIES}?user_id={hidden.public_id}")) == []
    own = rows_of(client.get(f"{POLICIES}?user_id={lister.public_id}"))
    assert [row["id"] for row in own] == [lister.policies.get().public_id]
    reader = caller_with(allow("policies:ListPolicies", "users:GetUser"))
    assert len(rows_of(reader.get(f"{POLICIES}?user_id={hidden.public_id}"))) == 1


def test_a_document_that_is_none_is_refused_before_the_policy_is_looked_for(cast: Cast) -> None:
    path = f"{POLICIES}/pol_doesnotexist0000"
    assert names_field(cast.admin.put(path, {"document": {}}, format="json"), "document.statement")
    error_of(cast.admin.put(path, {"document": DOCUMENT}, format="json"), 404, "RESOURCE_NOT_FOUND")


def test_a_key_is_made_with_policies_and_shows_them(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    first, second = policy(allow("memories:*")), policy(allow("documents:*"))
    ids = [first.public_id, second.public_id]
    made = body_of(post(cast.admin, KEYS, {"name": "k", "policy_ids": [ids[1], *ids]}), 201)
    path = f"{KEYS}/{made['id']}"
    assert made["policy_ids"] == body_of(cast.admin.get(path))["policy_ids"] == ids[::-1], "in the order attached"
    assert body_of(cast.admin.put(path, {"policy_ids": ids}, format="json"))["policy_ids"] == ids
    with django_assert_num_queries(3):  # the token, the page, the total
        assert {tuple(row["policy_ids"]) for row in rows_of(cast.admin.get(KEYS))} == {(), tuple(ids)}
    client = client_with(made["key"])
    body_of(client.get(MEMORIES))
    error_of(post(client, "/api/v1/projects", {"name": "x"}), 403, "FORBIDDEN")
    assert body_of(cast.admin.put(path, {"policy_ids": [ids[1]]}, format="json"))["policy_ids"] == [ids[1]]
    assert body_of(cast.admin.put(path, {"policy_ids": []}, format="json"))["policy_ids"] == []
    body_of(post(client, "/api/v1/projects", {"name": "x"}), 201)


def test_an_unknown_policy_is_refused_and_nothing_is_made(cast: Cast) -> None:
    known = policy(allow())
    before = ApiKey.objects.count()
    for wanted in (["pol_doesnotexist0000"], [known.public_id, "x"]):
        error_of(post(cast.admin, KEYS, {"name": "k", "policy_ids": wanted}), 400, "POLICY_NOT_FOUND")
    owner = user_with(allow("api-keys:*"))
    hidden = post(session_of(owner), KEYS, {"name": "k", "policy_ids": [known.public_id]})
    error_of(hidden, 400, "POLICY_NOT_FOUND")
    assert ApiKey.objects.count() == before
    assert names_field(post(cast.admin, KEYS, {"name": "k", "policy_ids": "x"}), "policy_ids")


def test_a_key_with_policies_makes_no_wider_one(cast: Cast) -> None:
    own = [allow("api-keys:*", "policies:GetPolicy"), deny("files:*")]
    key, client = key_with(cast.admin_user, *own)
    mine, wide = key.policies.get().public_id, policy(allow()).public_id
    for wanted in ({}, {"policy_ids": [mine]}):
        made = body_of(post(client, KEYS, {"name": "k", **wanted}), 201)
        assert made["policy_ids"] == [mine]
        error_of(post(client_with(made["key"]), "/api/v1/projects", {"name": "x"}), 403, "FORBIDDEN")
    for refused in ([], [wide], [mine, wide]):
        error_of(post(client, KEYS, {"name": "k", "policy_ids": refused}), 403, "FORBIDDEN")
    path = f"{KEYS}/{key.public_id}"
    for refused in ([], [wide]):
        error_of(client.put(path, {"policy_ids": refused}, format="json"), 403, "FORBIDDEN")
    assert body_of(client.put(path, {"policy_ids": [mine], "name": "n"}, format="json"))["name"] == "n"
    Policy.objects.filter(public_id=mine).delete()
    error_of(post(client, KEYS, {"name": "k"}), 403, "FORBIDDEN")


def test_a_key_with_policies_lets_no_key_out_of_its_project(cast: Cast) -> None:
    owner = user_with(allow())
    bound, _ = key_with(owner, project=cast.project_a)
    free, _ = key_with(owner)
    _, client = key_with(owner, allow("api-keys:*", "policies:GetPolicy"))
    for key, project in ((bound, None), (bound, cast.project_b), (free, cast.project_a)):
        body = {"name": "n", "project_id": project.public_id if project else None}
        error_of(client.put(f"{KEYS}/{key.public_id}", body, format="json"), 403, "FORBIDDEN")
        key.refresh_from_db()
        assert (key.name, key.project) == ("k", cast.project_a if key == bound else None)
    same = {"name": "n", "project_id": cast.project_a.public_id}
    assert body_of(client.put(f"{KEYS}/{bound.public_id}", same, format="json"))["name"] == "n"
    assert body_of(session_of(owner).put(f"{KEYS}/{bound.public_id}", {"project_id": None}, format="json"))


def test_a_user_sees_and_changes_only_its_own_keys(cast: Cast) -> None:
    owner = user_with(allow("api-keys:*"))
    key, _ = key_with(owner)
    foreign = ApiKey.objects.get(name="key-a")
    client = session_of(owner)
    assert [row["id"] for row in rows_of(client.get(KEYS))] == [key.public_id]
    for path in (f"{KEYS}/{foreign.public_id}", f"{KEYS}/key_doesnotexist0000"):
        error_of(client.get(path), 404, "RESOURCE_NOT_FOUND")
        error_of(client.put(path, {"name": "x"}, format="json"), 404, "RESOURCE_NOT_FOUND")
        error_of(client.delete(path), 404, "RESOURCE_NOT_FOUND")


def test_a_revoked_key_is_refused_at_once(cast: Cast) -> None:
    key, client = key_with(cast.admin_user)
    body_of(client.get(MEMORIES))
    assert cast.admin.delete(f"{KEYS}/{key.public_id}").status_code == 204
    error_of(client.get(MEMORIES), 401, "UNAUTHORIZED")
