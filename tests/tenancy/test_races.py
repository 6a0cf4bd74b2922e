"""What is changed, attached or filled in the moment in which it is deleted: one of the two wins, nothing breaks."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from memories.models import Memory
from soat.files.models import File
from soat.tenancy.models import ApiKey, Policy, Project, User
from tests.api.answers import body_of
from tests.conftest import Cast
from tests.memories.crowd import at_once
from tests.tenancy.policies import allow, key_with, policy, session_of, user_with

ROUNDS = 5
API = "/api/v1"
DOCUMENT = {"statement": [allow("memories:*")]}


def status(send: Callable[..., Any], path: str, *body: Any) -> int:
    return int(send(f"{API}/{path}", *body, format="json").status_code)


def project_path(cast: Cast) -> str:
    return f"projects/{Project.objects.create(name='going').public_id}"


def policy_path(cast: Cast) -> str:
    return f"policies/{policy(allow()).public_id}"


def key_path(cast: Cast) -> str:
    return f"api-keys/{key_with(cast.admin_user)[0].public_id}"


@pytest.mark.parametrize(
    ("made", "method", "body"),
    [
        (project_path, "patch", {"name": "other"}),
        (policy_path, "put", {"name": "other", "document": DOCUMENT}),
        (key_path, "put", {"name": "other"}),
    ],
)
def test_a_change_of_what_is_being_deleted(committed_cast: Cast, made: Any, method: str, body: Any) -> None:
    client = committed_cast.admin
    for _ in range(ROUNDS):
        path = made(committed_cast)
        change = functools.partial(status, getattr(client, method), path, body)
        delete = functools.partial(status, client.delete, path)
        *changed, first, second = at_once([change, change, delete, delete])
        assert set(changed) <= {200, 404}
        assert sorted([first, second]) == [204, 404]


def test_a_policy_that_is_deleted_while_it_is_attached(committed_cast: Cast) -> None:
    client = committed_cast.admin
    for number in range(ROUNDS):
        going, user = policy(allow()), user_with(username=f"user-{number}")
        key, _ = key_with(committed_cast.admin_user)
        body = {"policy_ids": [going.public_id]}
        acts = [
            functools.partial(status, client.put, f"users/{user.public_id}/policies", body),
            functools.partial(status, client.put, f"api-keys/{key.public_id}", body),
            functools.partial(status, client.post, "api-keys", {"name": "k", **body}),
            functools.partial(status, client.delete, f"policies/{going.public_id}"),
        ]
        *attached, deleted = at_once(acts)
        assert set(attached) <= {200, 201, 204, 400, 404, 503}
        assert deleted in {204, 503}
        if deleted == 204:
            assert not Policy.objects.filter(pk=going.pk).exists()
            assert not ApiKey.policies.through.objects.exists()


def test_two_who_attach_at_once_leave_the_policies_of_one(committed_cast: Cast) -> None:
    client = committed_cast.admin
    key, _ = key_with(committed_cast.admin_user)
    sets = [[policy(allow()).public_id for _ in range(3)] for _ in range(4)]
    path = f"api-keys/{key.public_id}"
    acts = [functools.partial(status, client.put, path, {"policy_ids": named}) for named in sets]
    assert at_once(acts) == [200] * len(sets)
    assert body_of(client.get(f"{API}/{path}"))["policy_ids"] in sets


def test_a_user_that_is_deleted_while_it_works(committed_cast: Cast) -> None:
    for number in range(ROUNDS):
        user = user_with(allow(), username=f"user-{number}")
        create = functools.partial(status, session_of(user).post, "api-keys", {"name": "k"})
        delete = functools.partial(status, committed_cast.admin.delete, f"users/{user.public_id}")
        *created, first, second = at_once([create, create, delete, delete])
        assert set(created) <= {201, 401, 404}
        assert sorted([first, second]) == [204, 404]
        assert not ApiKey.objects.filter(user_id=user.pk).exists()
        assert not User.objects.filter(pk=user.pk).exists()


def test_an_empty_project_that_is_filled_while_it_is_deleted(committed_cast: Cast) -> None:
    client = committed_cast.admin
    for _ in range(ROUNDS):
        project = Project.objects.create(name="going")
        body = {"project_id": project.public_id, "name": "k"}
        upload = {"project_id": project.public_id, "content": "eA==", "filename": "x.txt"}
        acts = [
            functools.partial(status, client.post, "memories", body),
            functools.partial(status, client.post, "files/upload/base64", upload),
            functools.partial(status, client.post, "api-keys", body),
            functools.partial(status, client.delete, f"projects/{project.public_id}"),
        ]
        memory, file, key, deleted = at_once(acts)
        assert {memory, file} <= {201, 403, 404}
        assert key in {201, 400, 404}
        assert deleted in {204, 409}
        if deleted == 204:
            rows = [model.objects.filter(project_id=project.pk).exists() for model in (Memory, File, ApiKey)]
            assert not any(rows), "nothing stands in no project"
        else:
            assert 201 in {memory, file}
