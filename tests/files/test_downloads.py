"""Files that were stored: lists, downloads, and who may see them."""

import base64
import re
from typing import Any
from urllib.parse import unquote

import pytest
from django.db import connection
from django.db.models.signals import pre_delete
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from documents.models import Document
from soat.engine.chunk import ChunkStrategy
from soat.files.models import File
from soat.files.services import NewFile, insert_file_row
from soat.tenancy.models import Project
from tests.api.answers import body_of, error_of, names_field, rows_of
from tests.conftest import Cast
from tests.files.conftest import Store
from tests.files.forms import BASE64, upload

FILES = "/api/v1/files"


@pytest.fixture(autouse=True)
def _empty_store(local_store: Store) -> None:
    """Keep these files in a folder of the test."""


def stored(client: Any, **body: Any) -> dict[str, Any]:
    record: dict[str, Any] = body_of(client.post(BASE64, {"content": "aGVsbG8=", **body}, format="json"), 201)
    return record


def download(client: Any, file_id: str, method: str = "GET", **headers: Any) -> Any:
    return client.generic(method, f"{FILES}/{file_id}/download", **headers)


def row(project: Project, name: str, **values: Any) -> File:
    """Make a row whose bytes were never stored."""
    new = NewFile(prefix="/", filename=name, path=f"/{name}", content_type="text/plain")
    file = insert_file_row(project=project, new=new, size=1, storage_key=f"none/{project.pk}/{name}")
    File.objects.filter(pk=file.pk).update(**values)
    return file


def sent_name(disposition: str) -> str:
    """Return the file name that a browser reads from a ``Content-Disposition``."""
    assert disposition.startswith("attachment; ")
    if encoded := re.search(r"filename\*=utf-8''(\S+)", disposition):
        return unquote(encoded[1])
    quoted = re.search(r'filename="((?:[^"\\]|\\.)*)"$', disposition)
    assert quoted is not None, disposition
    return re.sub(r"\\(.)", r"\1", quoted[1])


@pytest.mark.parametrize(
    "name",
    [
        "plain.txt",
        'quote".txt',
        "semi;colon.txt",
        "two  spaces .txt",
        "percent%22%0d%0a.txt",
        "café.txt",
        "日本 😀.txt",
        "\u202etxt.exe",
        "'; rm -rf.txt",
        "=cmd|' C calc'!A0.csv",
    ],
)
def test_a_download_has_its_name_and_no_other_header(cast: Cast, name: str) -> None:
    record = stored(cast.a, filename=name, content_type="text/html; charset=koi8-r")
    answer = download(cast.a, record["id"])
    assert answer.status_code == 200
    assert sent_name(answer["Content-Disposition"]) == name
    assert answer["Content-Disposition"].isascii()
    assert answer["Content-Disposition"].isprintable()
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Type"] == "text/html; charset=koi8-r"
    assert answer["Content-Length"] == "5"
    assert b"".join(answer.streaming_content) == b"hello"


@pytest.mark.parametrize("accept", ["application/pdf", "text/plain", "image/*", "garbage", "*/*"])
def test_a_download_does_not_ask_what_is_accepted(cast: Cast, accept: str) -> None:
    record = stored(cast.a)
    answer = download(cast.a, record["id"], HTTP_ACCEPT=accept)
    assert b"".join(answer.streaming_content) == b"hello"
    error_of(download(cast.a, "file_unknown", HTTP_ACCEPT=accept), 404, "RESOURCE_NOT_FOUND")


def test_a_head_has_the_headers_of_a_get(cast: Cast) -> None:
    record = stored(cast.a)
    answer = download(cast.a, record["id"], "HEAD")
    assert (answer.status_code, answer["Content-Length"]) == (200, "5")
    assert b"".join(answer.streaming_content) == b""


def test_bytes_are_the_same_whatever_they_are(cast: Cast) -> None:
    content = bytes(range(256)) * 300
    record = stored(cast.a, content=base64.b64encode(content).decode(), filename="a.gz")
    answer = download(cast.a, record["id"])
    assert b"".join(answer.streaming_content) == content
    assert not answer.has_header("Content-Encoding")


def test_a_foreign_file_is_exactly_as_an_unknown_one(cast: Cast) -> None:
    record = stored(cast.b)
    for client in (cast.a, cast.outsider):
        for suffix in ("", "/download"):
            known = client.get(f"{FILES}/{record['id']}{suffix}")
            error_of(known, 404, "RESOURCE_NOT_FOUND")
            assert known.content == client.get(f"{FILES}/file_doesnotexist0000{suffix}").content
        error_of(client.delete(f"{FILES}/{record['id']}"), 404, "RESOURCE_NOT_FOUND")
    for act in (cast.anonymous.get, cast.anonymous.delete):
        error_of(act(f"{FILES}/{record['id']}"), 401, "UNAUTHORIZED")
    assert body_of(cast.admin.get(f"{FILES}/{record['id']}")) == record
    assert File.objects.count() == 1


def test_each_caller_lists_what_it_may_read(cast: Cast) -> None:
    in_a, in_b = stored(cast.a), stored(cast.b)
    a, b = cast.project_a.public_id, cast.project_b.public_id
    assert rows_of(cast.admin.get(FILES)) == [in_b, in_a]
    assert rows_of(cast.admin.get(f"{FILES}?project_id={a}")) == [in_a]
    assert rows_of(cast.a.get(FILES)) == rows_of(cast.a.get(f"{FILES}?project_id={a}")) == [in_a]
    assert rows_of(cast.a.get(f"{FILES}?project_id=")) == [in_a]
    assert rows_of(cast.outsider.get(FILES)) == []
    scope = error_of(cast.a.get(f"{FILES}?project_id={b}"), 403, "API_KEY_PROJECT_SCOPE")
    assert scope["meta"] == {"scoped_project": a, "requested_project": b}
    for client in (cast.admin, cast.outsider):
        error_of(client.get(f"{FILES}?project_id=proj_doesnotexist0000"), 403, "FORBIDDEN")
    error_of(cast.outsider.get(f"{FILES}?project_id={a}"), 403, "FORBIDDEN")
    error_of(cast.anonymous.get(FILES), 401, "UNAUTHORIZED")


@pytest.mark.parametrize("requested", ["%00", "%ED%A0%80", "%F0%9F%98%80", "p" * 5_000])
def test_a_project_that_cannot_be_is_an_unknown_one(cast: Cast, requested: str) -> None:
    error_of(cast.admin.get(f"{FILES}?project_id={requested}"), 403, "FORBIDDEN")
    error_of(cast.a.get(f"{FILES}?project_id={requested}"), 403, "API_KEY_PROJECT_SCOPE")


def test_an_unknown_filter_is_named(cast: Cast) -> None:
    assert names_field(cast.a.get(f"{FILES}?path=/a"), "path")


def test_pages_neither_repeat_nor_skip_and_cost_the_same(cast: Cast) -> None:
    moment = timezone.now()
    for number in range(7):
        row(cast.project_a, f"{number}", created_at=moment)
    row(cast.project_b, "other", created_at=moment)
    paged = [
        each["filename"]
        for offset in range(0, 8, 3)
        for each in rows_of(cast.a.get(f"{FILES}?limit=3&offset={offset}"))
    ]
    assert paged == ["6", "5", "4", "3", "2", "1", "0"]
    with CaptureQueriesContext(connection) as queries:
        assert body_of(cast.a.get(FILES))["total"] == 7
    assert len(queries) == 3
    with CaptureQueriesContext(connection) as queries:
        body_of(cast.a.get(f"{FILES}?limit=1"))
    assert len(queries) == 3


def document_on(file: File) -> None:
    """Let a document stand on a file."""
    Document.objects.create(
        project=file.project, file=file, title="t", chunk_strategy=ChunkStrategy.WHOLE, chunk_size=1, chunk_overlap=0
    )


def test_a_file_under_a_document_stays(cast: Cast, local_store: Store) -> None:
    record = stored(cast.a)
    document_on(File.objects.get())
    error_of(cast.a.delete(f"{FILES}/{record['id']}"), 409, "FILE_HAS_DEPENDENTS")
    assert File.objects.count() == 1
    assert len(local_store.keys()) == 1


def test_a_document_made_in_the_moment_of_the_deletion_wins(committed_cast: Cast, local_store: Store) -> None:
    record = stored(committed_cast.a)

    def slip_in(instance: File, **_: Any) -> None:
        document_on(instance)

    pre_delete.connect(slip_in, sender=File)
    try:
        error_of(committed_cast.a.delete(f"{FILES}/{record['id']}"), 409, "FILE_HAS_DEPENDENTS")
    finally:
        pre_delete.disconnect(slip_in, sender=File)
    assert File.objects.count() == 1
    assert len(local_store.keys()) == 1


def test_a_deletion_that_is_rolled_back_keeps_the_bytes(cast: Cast, local_store: Store) -> None:
    record = body_of(upload(cast.a), 201)
    assert cast.a.delete(f"{FILES}/{record['id']}").status_code == 204
    assert len(local_store.keys()) == 1  # this test is never committed
