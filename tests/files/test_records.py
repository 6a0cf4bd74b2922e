"""Records, metadata, tags and base64 of files."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from soat.core.db import short_transaction
from soat.files.models import File
from tests.api.answers import body_of, error_of, names_field, rows_of
from tests.conftest import Cast
from tests.files.conftest import Store
from tests.files.forms import BASE64
from tests.tenancy.policies import allow, caller_with, deny

FILES, DOCUMENTS = "/api/v1/files", "/api/v1/documents"


@pytest.fixture(autouse=True)
def _empty_store(local_store: Store) -> None:
    """Keep these files in a folder of the test."""


def stored(client: Any, **body: Any) -> dict[str, Any]:
    record: dict[str, Any] = body_of(client.post(BASE64, {"content": "aGVsbG8=", **body}, format="json"), 201)
    return record


def test_a_record_without_bytes_can_be_found_but_not_downloaded(cast: Cast) -> None:
    body = {"prefix": "/far", "filename": "a.pdf", "content_type": "application/pdf", "size": 10**12, "metadata": "{}"}
    made = body_of(cast.a.post(FILES, body, format="json"), 201)
    assert made == {**made, **body, "path": "/far/a.pdf", "tags": {}}
    assert rows_of(cast.a.get(FILES)) == [made]
    for path in ("download", "download/base64"):
        error_of(cast.a.get(f"{FILES}/{made['id']}/{path}"), 404, "RESOURCE_NOT_FOUND")
    bare = body_of(cast.a.post(FILES, {}, format="json"), 201)
    assert (bare["path"], bare["size"], bare["content_type"]) == ("/file", None, "application/octet-stream")
    error_of(cast.a.post(FILES, {}, format="json"), 409, "NAME_CONFLICT")
    assert cast.a.delete(f"{FILES}/{made['id']}").status_code == 204


@pytest.mark.django_db(transaction=True)
def test_a_record_without_bytes_is_not_ingested(committed_cast: Cast, eager_tasks: None) -> None:
    client = committed_cast.a
    made = body_of(client.post(FILES, {"filename": "a.txt"}, format="json"), 201)
    document = body_of(client.post(f"{DOCUMENTS}/ingest?wait=true", {"file_id": made["id"]}, format="json"), 201)
    assert document["status"] == "failed"
    assert body_of(client.get(f"{DOCUMENTS}/{document['id']}/status"))["error"] == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"size": -1}, "size"),
        ({"size": "1"}, "size"),
        ({"filename": "a/b"}, "filename"),
        ({"filename": "a\x00"}, "filename"),
        ({"prefix": 5}, "prefix"),
        ({"content_type": "text"}, "content_type"),
        ({"metadata": {}}, "metadata"),
        ({"content": "eA=="}, "content"),
    ],
)
def test_what_does_not_fit_is_named(cast: Cast, body: dict[str, Any], field: str) -> None:
    assert names_field(cast.a.post(FILES, body, format="json"), field)


def test_folder_and_name_make_the_path(cast: Cast) -> None:
    made = stored(cast.a, filename="a.txt", prefix="/x")
    path = f"{FILES}/{made['id']}/metadata"
    renamed = body_of(cast.a.patch(path, {"filename": "b.txt"}, format="json"))
    assert (renamed["path"], renamed["prefix"], renamed["filename"]) == ("/x/b.txt", "/x", "b.txt")
    moved = body_of(cast.a.patch(path, {"prefix": "y//z/", "metadata": "m"}, format="json"))
    assert (moved["path"], moved["metadata"]) == ("/y/z/b.txt", "m")
    assert moved["updated_at"] > renamed["updated_at"]
    assert body_of(cast.a.patch(path, {}, format="json")) == moved
    assert body_of(cast.a.patch(path, {"metadata": None}, format="json"))["metadata"] is None
    other = stored(cast.a, filename="c.txt")
    conflict = cast.a.patch(f"{FILES}/{other['id']}/metadata", {"filename": "b.txt", "prefix": "/y/z"}, format="json")
    error_of(conflict, 409, "NAME_CONFLICT")
    assert body_of(cast.a.get(f"{FILES}/{other['id']}")) == other
    assert names_field(cast.a.patch(path, {"nope": 1}, format="json"), "nope")
    error_of(cast.b.patch(path, {"filename": "x"}, format="json"), 404, "RESOURCE_NOT_FOUND")


def test_a_document_keeps_its_path_when_its_file_moves(cast: Cast) -> None:
    made = body_of(cast.a.post(DOCUMENTS, {"content": "x", "path": "/kept.txt"}, format="json"), 201)
    body_of(cast.a.patch(f"{FILES}/{made['file_id']}/metadata", {"filename": "moved.txt"}, format="json"))
    assert body_of(cast.a.get(f"{DOCUMENTS}/{made['id']}"))["path"] == "/kept.txt"


def test_tags_are_replaced_and_merged_with_their_keys_as_they_came(cast: Cast) -> None:
    path = f"{FILES}/{stored(cast.a)['id']}/tags"
    assert body_of(cast.a.get(path)) == {}
    odd = {"aB c": "1", "e\u0301": "e\u0301"}
    assert body_of(cast.a.put(path, odd, format="json")) == {"aB c": "1", "e\u0301": "é"}
    merged = body_of(cast.a.patch(path, {"aB c": "2", "x": ""}, format="json"))
    assert merged == {"aB c": "2", "e\u0301": "é", "x": ""} == body_of(cast.a.get(path))
    assert body_of(cast.a.put(path, {}, format="json")) == {}
    wrong: list[Any] = [{"a": 1}, {"a": None}, {"a": "\x00"}, {"\x00": "a"}, {"": "x"}, []]
    for broken in wrong:
        assert names_field(cast.a.put(path, broken, format="json"), "tags")
        assert names_field(cast.a.patch(path, broken, format="json"), "tags")
    for method in ("GET", "PUT", "PATCH"):
        answer = cast.b.generic(method, path, "" if method == "GET" else "{}", content_type="application/json")
        error_of(answer, 404, "RESOURCE_NOT_FOUND")


def test_base64_gives_the_bytes_back(cast: Cast, settings: Any) -> None:
    raw = bytes(range(256))
    made = stored(cast.a, content=base64.b64encode(raw).decode(), filename="é.bin")
    found = body_of(cast.a.get(f"{FILES}/{made['id']}/download/base64"))
    assert base64.b64decode(found.pop("content")) == raw
    assert found == {"filename": "é.bin", "content_type": "application/octet-stream", "size": 256}
    settings.MAX_REQUEST_BYTES = 255
    error_of(cast.a.get(f"{FILES}/{made['id']}/download/base64"), 413, "REQUEST_TOO_LARGE")
    error_of(cast.b.get(f"{FILES}/{made['id']}/download/base64"), 404, "RESOURCE_NOT_FOUND")


def test_policies_narrow_files_by_path_and_tag(cast: Cast) -> None:
    a = cast.project_a.public_id
    inside, outside = stored(cast.a, prefix="/in", filename="a.txt"), stored(cast.a, filename="b.txt")
    client = caller_with(allow("files:*", on=f"srn:{a}:file:/in/*"))
    assert [row["id"] for row in rows_of(client.get(FILES))] == [inside["id"]]
    error_of(client.get(f"{FILES}/{outside['id']}/download"), 404, "RESOURCE_NOT_FOUND")
    error_of(client.patch(f"{FILES}/{inside['id']}/metadata", {"prefix": "/"}, format="json"), 403, "FORBIDDEN")
    body_of(client.patch(f"{FILES}/{inside['id']}/metadata", {"filename": "c.txt"}, format="json"))
    body = {"project_id": a, "content": "eA=="}
    error_of(client.post(BASE64, {**body, "filename": "d.txt"}, format="json"), 403, "FORBIDDEN")
    error_of(client.post(FILES, {"project_id": a, "filename": "d.txt"}, format="json"), 403, "FORBIDDEN")
    stored(client, **body, filename="d.txt", prefix="/in")
    assert File.objects.count() == 3


def meanwhile(monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]) -> None:
    """Run ``other`` once, after the next change was let through and before its lock."""
    pending = [other]

    def opened() -> Any:
        if pending:
            pending.pop()()
        return short_transaction()

    monkeypatch.setattr("soat.files.services.short_transaction", opened)


OURS: dict[str, Any] = {"StringEquals": {"soat:ResourceTag/team": "ours"}}
CHANGES: list[tuple[str, str, Any]] = [
    ("patch", "/tags", {"x": "1"}),
    ("put", "/tags", {"team": "ours"}),
    ("patch", "/metadata", {"metadata": "m"}),
    ("delete", "", None),
]


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_has_just_been_taken_away_is_not_changed(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, readable: bool, change: tuple[str, str, Any]
) -> None:
    method, suffix, body = change
    path = f"{FILES}/{stored(cast.a)['id']}"
    body_of(cast.a.put(f"{path}/tags", {"team": "ours"}, format="json"))
    reading = [allow("files:GetFile")] if readable else []
    client = caller_with(allow("files:*", **OURS), *reading)
    meanwhile(monkeypatch, lambda: File.objects.update(tags={"team": "theirs"}))
    answer = getattr(client, method)(f"{path}{suffix}", body, format="json")
    error_of(answer, 403 if readable else 404, "FORBIDDEN" if readable else "RESOURCE_NOT_FOUND")
    file = File.objects.get()
    assert (file.tags, file.metadata) == ({"team": "theirs"}, None)


def test_tags_are_merged_only_into_what_the_caller_may_make(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{FILES}/{stored(cast.a)['id']}/tags"
    sealed: dict[str, Any] = {
        "StringEquals": {"soat:ResourceTag/sealed": "yes"},
        "StringLike": {"soat:ResourceTag/label": "*"},
    }
    client = caller_with(allow("files:*"), deny("files:UpdateFileMetadata", **sealed))
    meanwhile(monkeypatch, lambda: File.objects.update(tags={"sealed": "yes"}))
    error_of(client.patch(path, {"label": "new"}, format="json"), 403, "FORBIDDEN")
    assert body_of(client.get(path)) == {"sealed": "yes"}
    assert body_of(client.patch(path, {"other": "new"}, format="json")) == {"sealed": "yes", "other": "new"}


def test_two_who_move_and_rename_at_once_leave_one_path(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{FILES}/{stored(cast.a, filename='a.txt', prefix='/x')['id']}/metadata"
    meanwhile(monkeypatch, lambda: body_of(cast.a.patch(path, {"prefix": "/y"}, format="json")))
    renamed = body_of(cast.a.patch(path, {"filename": "b.txt"}, format="json"))
    assert (renamed["prefix"], renamed["filename"], renamed["path"]) == ("/y", "b.txt", "/y/b.txt")
