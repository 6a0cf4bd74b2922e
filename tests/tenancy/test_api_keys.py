"""API keys: shown once, stored as a hash, never wider than who made them."""

import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from soat.tenancy.keys import create_api_key
from soat.tenancy.models import ApiKey, User
from tests.api.answers import body_of, error_of, names_field, rows_of
from tests.conftest import Cast, client_with

KEYS = "/api/v1/api-keys"
RECORD = {"id", "name", "key_prefix", "user_id", "project_id", "policy_ids", "created_at", "updated_at"}


def make(client: Any, **body: Any) -> dict[str, Any]:
    """Make a key and return what is answered."""
    made: dict[str, Any] = body_of(client.post(KEYS, {"name": "k", **body}, format="json"), 201)
    return made


def key_of(cast: Cast, name: str) -> ApiKey:
    return ApiKey.objects.get(name=name)


def test_a_key_is_shown_once_and_stored_as_its_hash(cast: Cast) -> None:
    made = make(cast.admin, project_id=cast.project_a.public_id)
    secret = made.pop("key")
    assert re.fullmatch("sk_[0-9a-f]{64}", secret)
    assert set(made) == RECORD
    assert made["key_prefix"] == secret[:8]
    assert made["user_id"] == cast.admin_user.public_id
    assert made["project_id"] == cast.project_a.public_id
    assert made["policy_ids"] == []
    assert body_of(cast.admin.get(f"{KEYS}/{made['id']}")) == made
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(k)::text, key_hash FROM tenancy_apikey k WHERE public_id = %s", [made["id"]])
        row, key_hash = cursor.fetchone()
    assert bytes(key_hash) == hashlib.sha256(secret.encode()).digest()
    assert secret not in row
    assert secret[8:] not in row
    for answer in (cast.admin.get(KEYS), cast.admin.get(f"{KEYS}/{made['id']}")):
        assert secret[8:] not in answer.content.decode()


def test_an_unbound_key_opens_what_its_user_may_see(cast: Cast) -> None:
    client = client_with(make(cast.admin)["key"])
    assert len(rows_of(client.get("/api/v1/projects"))) == 2
    body_of(client.post("/api/v1/projects", {"name": "by key"}, format="json"), 201)
    _, secret = create_api_key(user_id=cast.outsider_user.pk, name="outsider's", project=None)
    assert rows_of(client_with(secret).get("/api/v1/projects")) == []


def test_a_bound_key_makes_keys_for_its_project_only(cast: Cast) -> None:
    own = cast.project_a.public_id
    for body in ({}, {"project_id": None}, {"project_id": own}):
        made = make(cast.a, **body)
        assert made["project_id"] == own
        assert [row["id"] for row in rows_of(client_with(made["key"]).get("/api/v1/projects"))] == [own]
    for requested in (cast.project_b.public_id, "proj_doesnotexist0000"):
        answer = cast.a.post(KEYS, {"name": "k", "project_id": requested}, format="json")
        assert error_of(answer, 403, "API_KEY_PROJECT_SCOPE")["meta"] == {
            "scoped_project": own,
            "requested_project": requested,
        }


def test_a_bound_key_widens_no_key(cast: Cast) -> None:
    key = key_of(cast, "key-a")
    path = f"{KEYS}/{key.public_id}"
    answer = cast.a.put(path, {"project_id": cast.project_b.public_id}, format="json")
    error_of(answer, 403, "API_KEY_PROJECT_SCOPE")
    assert body_of(cast.a.put(path, {"project_id": None}, format="json"))["project_id"] == cast.project_a.public_id
    unbound = make(cast.admin)["id"]
    for act in (cast.a.get, cast.a.delete, lambda url: cast.a.put(url, {"name": "mine"}, format="json")):
        error_of(act(f"{KEYS}/{unbound}"), 404, "RESOURCE_NOT_FOUND")
    key.refresh_from_db()
    assert key.project == cast.project_a


def test_the_binding_is_checked_before_the_body(cast: Cast) -> None:
    foreign = {"project_id": cast.project_b.public_id, "nope": 1}
    error_of(cast.a.post(KEYS, foreign, format="json"), 403, "API_KEY_PROJECT_SCOPE")
    error_of(cast.a.put(f"{KEYS}/key_unknown", foreign, format="json"), 403, "API_KEY_PROJECT_SCOPE")


def test_the_project_of_a_new_key_must_be_known(cast: Cast) -> None:
    for requested in ("proj_doesnotexist0000", "schlüssel"):
        answer = cast.admin.post(KEYS, {"name": "k", "project_id": requested}, format="json")
        assert names_field(answer, "project_id")
    before = ApiKey.objects.count()
    answer = cast.admin.post(KEYS, {"name": "k", "policy_ids": ["pol_doesnotexist0000"]}, format="json")
    error_of(answer, 400, "POLICY_NOT_FOUND")
    assert ApiKey.objects.count() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": 5}, "name"),
        ({"name": "a" * 256}, "name"),
        ({"name": "a\x00"}, "name"),
        ({"name": "k", "key": "sk_mine"}, "key"),
        ({"name": "k", "user_id": "user_x"}, "user_id"),
        ({"name": "k", "project_id": 5}, "project_id"),
        ({"name": "k", "project_id": ["a"]}, "project_id"),
        ({"name": "k", "project_id": "p" * 65}, "project_id"),
        ({"name": "k", "project_id": "a\x00"}, "project_id"),
        ({"name": "k", "policy_ids": "pol_x"}, "policy_ids"),
    ],
)
def test_what_does_not_fit_is_named(cast: Cast, body: dict[str, Any], field: str) -> None:
    assert names_field(cast.admin.post(KEYS, body, format="json"), field)


def test_each_caller_lists_what_it_may_read(cast: Cast) -> None:
    unbound = make(cast.admin)["id"]
    create_api_key(user_id=cast.outsider_user.pk, name="outsider's", project=None)
    names = {client: [row["name"] for row in rows_of(client.get(KEYS))] for client in (cast.admin, cast.a, cast.b)}
    assert names == {cast.admin: ["outsider's", "k", "key-b", "key-a"], cast.a: ["key-a"], cast.b: ["key-b"]}
    assert rows_of(cast.outsider.get(KEYS)) == []
    for path in (f"{KEYS}/{unbound}", f"{KEYS}/{key_of(cast, 'key-b').public_id}"):
        for client in (cast.a, cast.outsider):
            assert client.get(path).content == client.get(f"{KEYS}/key_doesnotexist0000").content
            error_of(client.delete(path), 404, "RESOURCE_NOT_FOUND")
    assert ApiKey.objects.count() == 4


def test_an_outsider_makes_none(cast: Cast) -> None:
    for body in ({"name": "k"}, {}, {"name": "k", "project_id": cast.project_a.public_id}, {"nope": 1}):
        error_of(cast.outsider.post(KEYS, body, format="json"), 403, "FORBIDDEN")
        error_of(cast.outsider.put(f"{KEYS}/key_unknown", body, format="json"), 403, "FORBIDDEN")
    error_of(cast.anonymous.post(KEYS, {"name": "k"}, format="json"), 401, "UNAUTHORIZED")


def test_a_key_is_renamed_and_bound_anew_and_stays_the_same_key(cast: Cast) -> None:
    made = make(cast.admin)
    path, client = f"{KEYS}/{made['id']}", client_with(made["key"])
    changed = body_of(cast.admin.put(path, {"name": "renamed", "project_id": cast.project_b.public_id}, format="json"))
    assert (changed["name"], changed["project_id"]) == ("renamed", cast.project_b.public_id)
    assert changed["updated_at"] > made["updated_at"]
    assert [row["id"] for row in rows_of(client.get("/api/v1/projects"))] == [cast.project_b.public_id]
    assert body_of(cast.admin.put(path, {}, format="json")) == changed
    assert body_of(cast.admin.put(path, {"project_id": None}, format="json"))["project_id"] is None
    assert len(rows_of(client.get("/api/v1/projects"))) == 2


def test_a_revoked_key_opens_nothing_at_once(cast: Cast) -> None:
    path = f"{KEYS}/{key_of(cast, 'key-a').public_id}"
    answer = cast.a.delete(path)
    assert (answer.status_code, answer.content) == (204, b"")
    error_of(cast.a.get("/api/v1/projects"), 401, "UNAUTHORIZED")
    error_of(cast.admin.delete(path), 404, "RESOURCE_NOT_FOUND")


def test_a_key_ends_with_its_user(cast: Cast) -> None:
    User.objects.filter(pk=cast.admin_user.pk).update(is_active=False)
    error_of(cast.a.get("/api/v1/projects"), 401, "UNAUTHORIZED")


@pytest.mark.parametrize("secret", ["sk_", f"sk_{'0' * 64}", f"sk_{'g' * 64}", f"sk_{'0' * 5_000}"])
def test_a_key_that_is_not_ours_is_refused(cast: Cast, secret: str) -> None:
    error_of(client_with(secret).get("/api/v1/projects"), 401, "UNAUTHORIZED")
    error_of(client_with(cast.key_a.upper()).get("/api/v1/projects"), 401, "UNAUTHORIZED")
    error_of(client_with(cast.key_a[:-1]).get("/api/v1/projects"), 401, "UNAUTHORIZED")


def test_a_new_password_of_its_user_leaves_a_key_alone(cast: Cast) -> None:
    cast.admin_user.set_password("an-entirely-new-password")
    cast.admin_user.save()
    error_of(cast.admin.get("/api/v1/projects"), 401, "UNAUTHORIZED")
    body_of(cast.a.get("/api/v1/projects"))


def last_use(cast: Cast) -> Any:
    return key_of(cast, "key-a").last_used_at


def test_the_last_use_is_kept_and_written_once_a_minute(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    assert last_use(cast) is None
    begun = timezone.now()
    with django_assert_num_queries(4):
        cast.a.get("/api/v1/projects")
    first = last_use(cast)
    assert begun <= first <= timezone.now()
    with django_assert_num_queries(3):  # the key with its user and project, the page, the total
        cast.a.get("/api/v1/projects")
    assert last_use(cast) == first
    ApiKey.objects.filter(name="key-a").update(last_used_at=begun - timedelta(minutes=2))
    cast.a.get("/api/v1/projects")
    assert last_use(cast) >= begun
    assert ApiKey.objects.get(name="key-b").last_used_at is None


def test_who_asks_costs_one_query(cast: Cast) -> None:
    for client, table in ((cast.a, "tenancy_apikey"), (cast.admin, "tenancy_user")):
        client.get("/api/v1/users/me")
        with CaptureQueriesContext(connection) as queries:
            body_of(client.get("/api/v1/users/me"))
        assert len(queries) == 1, [query["sql"] for query in queries]
        assert table in queries[0]["sql"]


def test_a_refused_key_writes_nothing(cast: Cast, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        client_with(f"sk_{'0' * 64}").get("/api/v1/projects")


def test_the_hash_is_unique_and_found_by_its_index(cast: Cast) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN SELECT 1 FROM tenancy_apikey WHERE key_hash = %s", [b"\x00" * 32])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index" in plan
    assert ApiKey._meta.get_field("key_hash").unique
