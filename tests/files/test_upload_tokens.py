"""Uploads with a token: one file, one use, a quarter of an hour, and no credential."""

import base64
import functools
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from soat.audit.models import AuditEvent
from soat.files import upload_tokens
from soat.files.models import File, UploadToken
from soat.tenancy.keys import delete_api_key
from soat.tenancy.models import User
from soat.tenancy.services import delete_user
from tests.api.answers import body_of, error_of, names_field
from tests.conftest import Cast
from tests.files.conftest import Store
from tests.files.forms import MULTIPART, file_part, form, post_raw
from tests.memories.crowd import at_once
from tests.tenancy.policies import allow, caller_with, deny, key_with, policy, session_of, user_with

FILES, PRESIGNED = "/api/v1/files", "/api/v1/files/presigned-url"
HELLO = {"content": base64.b64encode(b"hello").decode()}


def token_for(client: Any, **body: Any) -> str:
    made = body_of(client.post(PRESIGNED, body, format="json"), 201)
    assert set(made) == {"upload_token", "upload_url", "expires_at"}
    assert made["upload_url"].endswith(f"{FILES}/upload/{made['upload_token']}")
    return str(made["upload_token"])


def send(client: Any, token: str, **body: Any) -> Any:
    return client.post(f"{FILES}/upload/{token}", {**HELLO, **body}, format="json")


def test_the_token_says_where_the_file_goes(committed_cast: Cast, store: Store) -> None:
    cast = committed_cast
    token = token_for(cast.a, prefix="/in", filename="a.md", content_type="text/markdown")
    made = body_of(send(cast.anonymous, token, filename="other.txt", content_type="text/plain", metadata="m"), 201)
    assert (made["path"], made["content_type"], made["metadata"]) == ("/in/a.md", "text/markdown", "m")
    assert made["project_id"] == cast.project_a.public_id
    sent: Any = cast.a.get(f"{FILES}/{made['id']}/download")
    assert b"".join(sent.streaming_content) == b"hello"
    error_of(send(cast.anonymous, token), 409, "UPLOAD_TOKEN_USED")
    assert File.objects.count() == 1
    assert len(store.keys()) == 1


def test_what_the_token_leaves_open_the_upload_says(committed_cast: Cast, local_store: Store) -> None:
    cast = committed_cast
    made = body_of(send(cast.anonymous, token_for(cast.a), filename="b.txt"), 201)
    assert (made["path"], made["content_type"]) == ("/b.txt", "text/plain")
    path = f"{FILES}/upload/{token_for(cast.a, prefix='/form')}"
    answer = post_raw(cast.anonymous, path, form(file_part("c.txt")), MULTIPART)
    assert body_of(answer, 201)["path"] == "/form/c.txt"


def test_an_upload_that_fails_leaves_the_token_good(cast: Cast, local_store: Store, settings: Any) -> None:
    token = token_for(cast.a, filename="a.txt")
    assert names_field(cast.anonymous.post(f"{FILES}/upload/{token}", {}, format="json"), "content")
    assert names_field(send(cast.anonymous, token, content="?"), "content")
    assert names_field(send(cast.anonymous, token, prefix="/x"), "prefix")
    settings.MAX_UPLOAD_BYTES = 4
    error_of(send(cast.anonymous, token), 413, "REQUEST_TOO_LARGE")
    settings.MAX_UPLOAD_BYTES = 5
    cast.a.post(f"{FILES}/upload/base64", {**HELLO, "filename": "a.txt"}, format="json")
    error_of(send(cast.anonymous, token), 409, "NAME_CONFLICT")
    File.objects.all().delete()
    body_of(send(cast.anonymous, token), 201)


def test_of_many_uses_at_once_one_wins(committed_cast: Cast, store: Store) -> None:
    token = token_for(committed_cast.a)
    acts = [functools.partial(send, committed_cast.anonymous, token, filename=f"{n}.txt") for n in range(6)]
    answers = at_once(acts)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
    assert {answer.json()["error"]["code"] for answer in answers if answer.status_code == 409} == {"UPLOAD_TOKEN_USED"}
    assert store.keys() == [File.objects.get().storage_key]


def test_a_token_is_good_for_a_quarter_of_an_hour(cast: Cast, local_store: Store) -> None:
    made = body_of(cast.a.post(PRESIGNED, {}, format="json"), 201)
    ends = datetime.fromisoformat(made["expires_at"])
    assert timedelta(minutes=14) < ends - timezone.now() <= timedelta(minutes=15)
    UploadToken.objects.update(expires_at=timezone.now())
    error_of(send(cast.anonymous, made["upload_token"]), 410, "UPLOAD_TOKEN_EXPIRED")
    upload_tokens.delete_old_tokens()
    error_of(send(cast.anonymous, made["upload_token"]), 410, "UPLOAD_TOKEN_EXPIRED")
    UploadToken.objects.update(expires_at=timezone.now() - timedelta(days=2))
    upload_tokens.delete_old_tokens()
    error_of(send(cast.anonymous, made["upload_token"]), 404, "UPLOAD_TOKEN_NOT_FOUND")
    assert not File.objects.exists()


@pytest.mark.parametrize("token", ["x", "a" * 5_000, "%00", "é", "..%2f"])
def test_an_unknown_token(cast: Cast, token: str) -> None:
    answer = cast.anonymous.post(f"{FILES}/upload/{token}", HELLO, format="json")
    assert answer.status_code in {404, 405}
    assert answer.json()["error"]["code"] in {"UPLOAD_TOKEN_NOT_FOUND", "RESOURCE_NOT_FOUND", "METHOD_NOT_ALLOWED"}


def test_only_the_hash_of_a_token_is_stored(cast: Cast) -> None:
    token = token_for(cast.a)
    (row,) = UploadToken.objects.all()
    assert token.encode() not in bytes(row.token_hash)
    assert len(bytes(row.token_hash)) == 32


def test_the_address_is_that_of_the_server(cast: Cast, settings: Any) -> None:
    settings.BASE_URL = "https://soat.example/base"
    made = body_of(cast.a.post(PRESIGNED, {}, format="json"), 201)
    assert made["upload_url"] == f"https://soat.example/base{FILES}/upload/{made['upload_token']}"


def test_who_may_not_upload_gets_no_token(cast: Cast) -> None:
    a = cast.project_a.public_id
    error_of(cast.outsider.post(PRESIGNED, {"project_id": a}, format="json"), 403, "FORBIDDEN")
    error_of(cast.b.post(PRESIGNED, {"project_id": a}, format="json"), 403, "API_KEY_PROJECT_SCOPE")
    error_of(cast.admin.post(PRESIGNED, {}, format="json"), 400)
    client = caller_with(allow("files:UploadFile", on=f"srn:{a}:file:/in/*"))
    error_of(client.post(PRESIGNED, {"project_id": a, "filename": "x"}, format="json"), 403, "FORBIDDEN")
    token_for(client, project_id=a, prefix="/in")


def test_a_token_of_a_deleted_project_is_unknown(cast: Cast) -> None:
    token = token_for(cast.a)
    cast.project_a.deleting_at = timezone.now()
    cast.project_a.save(update_fields=["deleting_at"])
    error_of(send(cast.anonymous, token), 404, "UPLOAD_TOKEN_NOT_FOUND")


def test_a_token_ends_with_who_asked_for_it(cast: Cast, local_store: Store) -> None:
    user = user_with(allow())
    a = cast.project_a.public_id
    key, client = key_with(user)
    tokens = [token_for(client, project_id=a), token_for(session_of(user), project_id=a)]
    for token in tokens:
        User.objects.filter(pk=user.pk).update(is_active=False)
        error_of(send(cast.anonymous, token), 404, "UPLOAD_TOKEN_NOT_FOUND")
        User.objects.filter(pk=user.pk).update(is_active=True)
    delete_api_key(key=key)
    error_of(send(cast.anonymous, tokens[0]), 404, "UPLOAD_TOKEN_NOT_FOUND")
    delete_user(user=user)
    error_of(send(cast.anonymous, tokens[1]), 404, "UPLOAD_TOKEN_NOT_FOUND")
    assert not File.objects.exists()


def test_a_token_opens_what_its_maker_may_do_now(cast: Cast, local_store: Store) -> None:
    user = user_with(allow("files:UploadFile"))
    token = token_for(session_of(user), project_id=cast.project_a.public_id, filename="a.txt")
    user.policies.clear()
    error_of(send(cast.anonymous, token), 403, "FORBIDDEN")
    user.policies.add(policy(allow("files:UploadFile")))
    body_of(send(cast.anonymous, token), 201)


@pytest.mark.parametrize("wrong", ["secret.txt", "other.txt"])
def test_the_name_that_the_upload_brings_must_be_granted_too(cast: Cast, local_store: Store, wrong: str) -> None:
    a = cast.project_a.public_id
    on = [f"srn:{a}:file:/in/{name}" for name in ("file", "a.txt", "secret.txt")]
    statements = [*(allow("files:UploadFile", on=path) for path in on), deny(on=on[2])]
    token = token_for(caller_with(*statements), project_id=a, prefix="/in")
    error_of(send(cast.anonymous, token, filename=wrong), 403, "FORBIDDEN")
    assert body_of(send(cast.anonymous, token, filename="a.txt"), 201)["path"] == "/in/a.txt"


def test_the_audit_trail_names_who_asked_for_the_token(cast: Cast, local_store: Store) -> None:
    user = user_with(allow())
    key, client = key_with(user)
    made = body_of(send(cast.anonymous, token_for(client, project_id=cast.project_a.public_id)), 201)
    line = AuditEvent.objects.get(resource_id=made["id"])
    assert (line.operation, line.user, line.key) == ("uploadFileWithToken", user.public_id, key.public_id)
