"""Users: made, read, deleted and given policies by whoever may do that for all of them."""

import functools
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from soat.tenancy.models import ApiKey, User
from tests.api.answers import body_of, error_of, names_field, rows_of
from tests.conftest import PASSWORD, Cast, client_with
from tests.memories.crowd import at_once
from tests.tenancy.policies import allow, caller_with, key_with, policy, session_of, user_with

USERS = "/api/v1/users"
NOBODY = f"{USERS}/user_doesnotexist0000"
CREDENTIALS = {"username": "anna", "password": PASSWORD}


def post(client: Any, body: dict[str, Any]) -> Any:
    return client.post(USERS, body, format="json")


def test_an_admin_makes_reads_and_deletes_a_user(cast: Cast) -> None:
    made = body_of(post(cast.admin, CREDENTIALS), 201)
    assert set(made) == {"id", "username", "role", "created_at", "updated_at"}
    assert (made["username"], made["role"]) == ("anna", "user")
    assert body_of(cast.admin.get(f"{USERS}/{made['id']}")) == made
    assert made in rows_of(cast.admin.get(USERS))
    token = body_of(cast.anonymous.post(f"{USERS}/login", CREDENTIALS, format="json"))["token"]
    client = client_with(token)
    body_of(client.get(f"{USERS}/me"))
    assert cast.admin.delete(f"{USERS}/{made['id']}").status_code == 204
    error_of(cast.admin.get(f"{USERS}/{made['id']}"), 404, "RESOURCE_NOT_FOUND")
    error_of(client.get(f"{USERS}/me"), 401, "UNAUTHORIZED")


def test_a_new_admin_is_one(cast: Cast) -> None:
    assert body_of(post(cast.admin, {**CREDENTIALS, "role": "admin"}), 201)["role"] == "admin"
    client = session_of(User.objects.get(username="anna"))
    assert len(rows_of(client.get("/api/v1/projects"))) == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"username": "x"}, "password"),
        ({"password": PASSWORD}, "username"),
        ({**CREDENTIALS, "username": ""}, "username"),
        ({**CREDENTIALS, "username": "a" * 151}, "username"),
        ({**CREDENTIALS, "username": 5}, "username"),
        ({**CREDENTIALS, "password": "short"}, "password"),
        ({**CREDENTIALS, "role": "owner"}, "role"),
        ({**CREDENTIALS, "role": None}, "role"),
        ({**CREDENTIALS, "is_staff": True}, "is_staff"),
    ],
)
def test_what_does_not_fit_is_named(cast: Cast, body: dict[str, Any], field: str) -> None:
    assert names_field(post(cast.admin, body), field)
    assert User.objects.count() == 2


def test_a_username_is_taken_once(cast: Cast) -> None:
    body_of(post(cast.admin, CREDENTIALS), 201)
    error_of(post(cast.admin, CREDENTIALS), 409, "NAME_CONFLICT")


def test_of_many_at_once_one_gets_the_username(committed_cast: Cast) -> None:
    statuses = at_once([lambda: post(committed_cast.admin, CREDENTIALS).status_code] * 8)
    assert sorted(statuses) == [201] + [409] * 7


def test_without_the_right_for_all_users_nobody_is_seen(cast: Cast) -> None:
    admin_id = cast.admin_user.public_id
    in_a = caller_with(allow(on=f"srn:{cast.project_a.public_id}:*:*"))
    _, restricted = key_with(cast.admin_user, allow("memories:*"))
    for client in (cast.outsider, cast.a, in_a, restricted):
        error_of(client.get(USERS), 403, "FORBIDDEN")
        error_of(post(client, CREDENTIALS), 403, "FORBIDDEN")
        for path in (f"{USERS}/{admin_id}", NOBODY):
            error_of(client.get(path), 404, "RESOURCE_NOT_FOUND")
            error_of(client.delete(path), 404, "RESOURCE_NOT_FOUND")
            error_of(client.put(f"{path}/policies", {"policy_ids": []}, format="json"), 404, "RESOURCE_NOT_FOUND")
    error_of(cast.anonymous.get(USERS), 401, "UNAUTHORIZED")
    assert User.objects.filter(pk=cast.admin_user.pk).exists()


def test_a_user_manager_makes_and_deletes_users_but_no_admins(cast: Cast) -> None:
    client = caller_with(allow("users:*"))
    made = body_of(post(client, CREDENTIALS), 201)
    error_of(post(client, {**CREDENTIALS, "username": "ben", "role": "admin"}), 403, "FORBIDDEN")
    error_of(client.delete(f"{USERS}/{cast.admin_user.public_id}"), 403, "FORBIDDEN")
    assert client.delete(f"{USERS}/{made['id']}").status_code == 204
    assert len(rows_of(client.get(USERS))) == 3


def test_the_last_admin_stays(cast: Cast) -> None:
    path = f"{USERS}/{cast.admin_user.public_id}"
    error_of(cast.admin.delete(path), 403, "FORBIDDEN")
    second = body_of(post(cast.admin, {**CREDENTIALS, "role": "admin"}), 201)
    User.objects.filter(username="anna").update(is_active=False)
    error_of(cast.admin.delete(path), 403, "FORBIDDEN")
    assert cast.admin.delete(f"{USERS}/{second['id']}").status_code == 204
    assert User.objects.filter(is_superuser=True).count() == 1


def test_admins_who_delete_each_other_at_once_leave_one(committed_cast: Cast) -> None:
    users = [User.objects.create_user(f"admin-{number}", None, "admin") for number in range(3)]
    users.append(committed_cast.admin_user)
    clients = [session_of(user) for user in users]
    others = [*users[1:], users[0]]
    acts = [
        functools.partial(client.delete, f"{USERS}/{other.public_id}")
        for client, other in zip(clients, others, strict=True)
    ]
    statuses = [answer.status_code for answer in at_once(acts)]
    assert set(statuses) <= {204, 401, 404, 403}
    assert User.objects.filter(is_superuser=True).count() == len(users) - statuses.count(204) >= 1


def test_policies_are_replaced_as_a_whole(cast: Cast) -> None:
    user = user_with()
    first, second = policy(allow("memories:*")), policy(allow("documents:*"))
    path = f"{USERS}/{user.public_id}/policies"
    for wanted in ([first, second], [second], []):
        named = [item.public_id for item in wanted]
        assert cast.admin.put(path, {"policy_ids": named}, format="json").status_code == 204
        assert list(user.policies.order_by("pk")) == wanted
    unknown = [first.public_id, "pol_doesnotexist0000"]
    error_of(cast.admin.put(path, {"policy_ids": unknown}, format="json"), 400, "POLICY_NOT_FOUND")
    assert names_field(cast.admin.put(path, {}, format="json"), "policy_ids")
    assert names_field(cast.admin.put(path, {"policy_ids": "x"}, format="json"), "policy_ids")
    assert not user.policies.exists()
    nobody = f"{NOBODY}/policies"
    error_of(cast.admin.put(nobody, {"policy_ids": [first.public_id]}, format="json"), 404, "RESOURCE_NOT_FOUND")


def test_a_policy_that_may_not_be_read_is_attached_as_little_as_an_unknown_one(cast: Cast) -> None:
    user, hidden = user_with(), policy(allow())
    client = session_of(user_with(allow("users:*"), username="manager"))
    path = f"{USERS}/{user.public_id}/policies"
    answers = [
        client.put(path, {"policy_ids": [named]}, format="json") for named in (hidden.public_id, "pol_doesnotexist0000")
    ]
    error_of(answers[0], 400, "POLICY_NOT_FOUND")
    assert answers[0].content == answers[1].content


def test_the_list_costs_the_same_whatever_its_length(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        User.objects.create_user(f"user-{number}")
    with django_assert_num_queries(3):  # the token, the page, the total
        assert body_of(cast.admin.get(f"{USERS}?limit=10"))["total"] == 22


def test_the_keys_of_a_deleted_user_are_gone(cast: Cast) -> None:
    user = user_with(allow())
    _, client = key_with(user)
    body_of(client.get("/api/v1/memories"))
    assert cast.admin.delete(f"{USERS}/{user.public_id}").status_code == 204
    error_of(client.get("/api/v1/memories"), 401, "UNAUTHORIZED")
    assert not ApiKey.objects.filter(user_id=user.pk).exists()
