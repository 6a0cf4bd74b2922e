"""Uploads: what is taken, what it is called, and what a refused one leaves behind."""

import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from soat.files.models import File
from tests.api.answers import body_of, error_of, names_field, rows_of
from tests.conftest import Cast
from tests.files.conftest import Store
from tests.files.forms import BASE64, MULTIPART, UPLOAD, file_part, form, post_form, post_raw, upload

RECORD = {
    "id",
    "project_id",
    "prefix",
    "filename",
    "path",
    "content_type",
    "size",
    "metadata",
    "tags",
    "created_at",
    "updated_at",
}
HELLO = "aGVsbG8="
FILES = "/api/v1/files"


@pytest.fixture(autouse=True)
def _empty_store(local_store: Store) -> None:
    """Keep these files in a folder of the test."""


def base64_upload(client: Any, **body: Any) -> Any:
    return client.post(BASE64, {"content": HELLO, **body}, format="json")


def test_a_record_says_what_was_uploaded(cast: Cast) -> None:
    record = body_of(upload(cast.a, prefix="/a/b", filename="c.md", metadata="free text"), 201)
    assert set(record) == RECORD
    assert record["id"].startswith("file_")
    expected = {
        "project_id": cast.project_a.public_id,
        "prefix": "/a/b",
        "filename": "c.md",
        "path": "/a/b/c.md",
        "content_type": "text/plain",
        "size": 5,
        "metadata": "free text",
        "tags": {},
    }
    assert {name: record[name] for name in expected} == expected
    assert record["created_at"] == record["updated_at"]
    assert body_of(cast.a.get(f"{FILES}/{record['id']}")) == record
    assert rows_of(cast.a.get(FILES)) == [record]


def test_without_a_prefix_and_metadata(cast: Cast) -> None:
    record = body_of(upload(cast.a), 201)
    assert (record["prefix"], record["path"], record["metadata"]) == ("/", "/notes.txt", None)
    record = body_of(base64_upload(cast.a), 201)
    assert (record["filename"], record["path"], record["content_type"]) == ("file", "/file", "application/octet-stream")
    assert body_of(base64_upload(cast.a, filename="b", metadata=""), 201)["metadata"] == ""


@pytest.mark.parametrize(
    ("prefix", "canonical"),
    [
        ("", "/"),
        ("/", "/"),
        ("///", "/"),
        ("a", "/a"),
        ("/a/", "/a"),
        ("//a//b//", "/a/b"),
        ("cafe\u0301", "/café"),
        ("../../etc", "/../../etc"),
        ("a b/ü/日本", "/a b/ü/日本"),
        ("%2e%2e", "/%2e%2e"),
        ("\\a", "/\\a"),
    ],
)
def test_a_prefix_has_one_spelling(cast: Cast, prefix: str, canonical: str) -> None:
    for number, answer in enumerate(
        (upload(cast.a, prefix=prefix, filename="0"), base64_upload(cast.a, prefix=prefix, filename="1"))
    ):
        record = body_of(answer, 201)
        assert record["prefix"] == canonical
        assert record["path"] == f"{canonical.rstrip('/')}/{number}"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"prefix": " "}, "prefix"),
        ({"prefix": "a" * 701}, "prefix"),
        ({"prefix": "\U0001f600" * 400}, "prefix"),
        ({"prefix": "a\x00b"}, "prefix"),
        ({"prefix": "\ud800"}, "prefix"),
        ({"prefix": None}, "prefix"),
        ({"prefix": 5}, "prefix"),
        ({"filename": ""}, "filename"),
        ({"filename": " "}, "filename"),
        ({"filename": "."}, "filename"),
        ({"filename": ".."}, "filename"),
        ({"filename": "a/b"}, "filename"),
        ({"filename": "../../etc/passwd"}, "filename"),
        ({"filename": "..\\..\\boot.ini"}, "filename"),
        ({"filename": "a\nb"}, "filename"),
        ({"filename": "a\r\nX-Evil: 1"}, "filename"),
        ({"filename": "a\x7fb"}, "filename"),
        ({"filename": "a\x85b"}, "filename"),
        ({"filename": "a\x00b"}, "filename"),
        ({"filename": "\udfff"}, "filename"),
        ({"filename": "a" * 256}, "filename"),
        ({"filename": ["a"]}, "filename"),
        ({"content_type": "text"}, "content_type"),
        ({"content_type": "text/"}, "content_type"),
        ({"content_type": "/plain"}, "content_type"),
        ({"content_type": "te xt/plain"}, "content_type"),
        ({"content_type": "text/plain\r\nX-Evil: 1"}, "content_type"),
        ({"content_type": "text/plain; charset=é"}, "content_type"),
        ({"content_type": "text/" + "a" * 251}, "content_type"),
        ({"content_type": ""}, "content_type"),
        ({"content_type": 5}, "content_type"),
        ({"content": "no base64!"}, "content"),
        ({"content": "aGVsbG8"}, "content"),
        ({"content": "aGVs_G8="}, "content"),
        ({"content": "é"}, "content"),
        ({"content": "\x00"}, "content"),
        ({"content": ""}, "content"),
        ({"content": None}, "content"),
        ({"content": ["aGVsbG8="]}, "content"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"metadata": "a" * 65_537}, "metadata"),
        ({"metadata": "\x00"}, "metadata"),
        ({"size": 5}, "size"),
        ({"tags": {}}, "tags"),
    ],
)
def test_what_does_not_fit_is_named_and_leaves_nothing(
    cast: Cast, local_store: Store, body: dict[str, Any], field: str
) -> None:
    answer = post_raw(cast.a, BASE64, encoded({"content": HELLO, **body}), content_type="application/json")
    assert names_field(answer, field)
    assert local_store.keys() == []
    assert not File.objects.exists()


def encoded(body: dict[str, Any]) -> bytes:
    """Return JSON that is ASCII, lone surrogates as escapes: what a client can really send."""
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\boot.ini", "boot.ini"),
        ("/absolute.txt", "absolute.txt"),
        ("cafe\u0301.txt", "café.txt"),
        ("a b.txt", "a b.txt"),
        ("..hidden", "..hidden"),
        ("日本.txt", "日本.txt"),
        ('a\\"b.txt', 'a"b.txt'),
    ],
)
def test_the_name_of_a_part_is_its_last_piece(cast: Cast, wire: str, name: str) -> None:
    record = body_of(post_form(cast.a, file_part(wire)), 201)
    assert record["filename"] == name
    assert record["path"] == f"/{name}"
    assert unicodedata.is_normalized("NFC", record["path"])


def test_a_part_with_a_name_that_is_too_long_is_refused_and_not_cut(cast: Cast, local_store: Store) -> None:
    answer = post_form(cast.a, file_part("n" * 252 + ".txt"))
    assert names_field(answer, "filename")
    assert "at most 255 characters" in error_of(answer, 400)["message"]
    assert local_store.keys() == []
    assert body_of(post_form(cast.a, file_part("n" * 251 + ".txt")), 201)["filename"] == "n" * 251 + ".txt"


def test_permission_comes_before_a_name_that_is_too_long(cast: Cast) -> None:
    project = ('Content-Disposition: form-data; name="project_id"', cast.project_b.public_id.encode())
    answer = post_form(cast.a, file_part("n" * 300 + ".txt"), project)
    error_of(answer, 403, "API_KEY_PROJECT_SCOPE")


def test_a_field_of_the_form_with_a_very_long_name_is_named(cast: Cast) -> None:
    answer = post_form(cast.a, file_part("a.txt"), (f'Content-Disposition: form-data; name="{"n" * 300}"', b"1"))
    assert error_of(answer, 400)["meta"] == {"unknownFields": ["n" * 100]}


@pytest.mark.parametrize("ending", ["e" * 250, "\U0001f600" * 70])
def test_a_large_file_may_have_a_name_with_a_long_ending(cast: Cast, settings: Any, ending: str) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    name = f"a.{ending}"
    assert body_of(post_form(cast.a, file_part(name, content=b"x" * 5_000)), 201)["filename"] == name


@pytest.mark.parametrize("wire", ["", "..", "."])
def test_a_part_without_a_name_is_no_file(cast: Cast, wire: str) -> None:
    assert names_field(post_form(cast.a, file_part(wire)), "file")


@pytest.mark.parametrize("name", ["a\x00b.txt", "a\x01.txt", "a\x7f.txt", "a\ufffd.txt"])
def test_what_cannot_be_in_a_name_is_refused_in_the_name_of_a_part_too(
    cast: Cast, local_store: Store, name: str
) -> None:
    assert names_field(post_form(cast.a, file_part(name)), "filename")
    assert local_store.keys() == []


@pytest.mark.parametrize("wire", ["%ff.txt", "a%00.txt", "%ed%a0%80"])
def test_an_encoded_name_that_is_no_text_is_refused(cast: Cast, wire: str) -> None:
    head = f"Content-Disposition: form-data; name=\"file\"; filename*=utf-8''{wire}"
    assert names_field(post_form(cast.a, (head, b"x")), "filename")


def test_a_name_is_taken_as_it_is_written(cast: Cast) -> None:
    for number, name in enumerate(("R&amp;D.txt", "a\u00a0b.txt", "a\u200bb.txt")):
        folder = ('Content-Disposition: form-data; name="prefix"', f"/{number}".encode())
        assert body_of(post_form(cast.a, file_part(name), folder), 201)["filename"] == name


@pytest.mark.parametrize("ending", ["é" * 200, "x" * 250])
def test_a_large_file_whose_name_ends_at_length_is_no_crash(cast: Cast, settings: Any, ending: str) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 4
    record = body_of(post_form(cast.a, file_part(f"a.{ending}")), 201)
    assert record["filename"] == f"a.{ending}"


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"a\xed\xa0\x80"])
def test_bytes_of_a_form_that_are_no_text_are_refused(cast: Cast, local_store: Store, raw: bytes) -> None:
    for field in ("metadata", "prefix", "filename"):
        part = (f'Content-Disposition: form-data; name="{field}"', raw)
        assert names_field(post_form(cast.a, file_part("a.txt"), part), field)
    assert local_store.keys() == []


def test_the_charset_of_a_form_is_that_of_its_fields(cast: Cast) -> None:
    body = form(file_part("é.txt"), ('Content-Disposition: form-data; name="metadata"', b"\xe9"))
    made = body_of(post_raw(cast.a, UPLOAD, body, f"{MULTIPART}; charset=iso-8859-1"), 201)
    assert (made["filename"], made["metadata"]) == ("é.txt", "é")


def test_a_part_that_is_there_twice_is_named(cast: Cast, local_store: Store) -> None:
    assert names_field(post_form(cast.a, file_part("a.txt"), file_part("b.txt")), "file")
    twice = [('Content-Disposition: form-data; name="metadata"', value) for value in (b"a", b"b")]
    assert names_field(post_form(cast.a, file_part("a.txt"), *twice), "metadata")
    assert local_store.keys() == []


@pytest.mark.parametrize(
    ("part", "field"),
    [
        (('Content-Disposition: form-data; name="prefix"', b"a\x00b"), "prefix"),
        (('Content-Disposition: form-data; name="filename"', b"a\nb"), "filename"),
        (('Content-Disposition: form-data; name="nope"', b"1"), "nope"),
        (('Content-Disposition: form-data; name="nope\x00"', b"1"), "nope\x00"),
        (('Content-Disposition: form-data; name="prefix"; filename="p"', b"/a"), "prefix"),
        (('Content-Disposition: form-data; name="metadata"', b"m" * 65_537), "metadata"),
    ],
)
def test_a_field_of_the_form_that_does_not_fit_is_named(
    cast: Cast, local_store: Store, part: tuple[str, bytes], field: str
) -> None:
    assert names_field(post_form(cast.a, file_part("a.txt"), part), field)
    assert local_store.keys() == []


def test_a_text_field_called_file_is_no_file(cast: Cast) -> None:
    assert names_field(cast.a.post(UPLOAD, {"file": "text"}, format="multipart"), "file")
    error = error_of(cast.a.post(UPLOAD, {"prefix": "/", "nope": "1"}, format="multipart"), 400)
    assert error["meta"] == {"unknownFields": ["nope"], "missingFields": ["file"]}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", MULTIPART, 400),
        (b"garbage", MULTIPART, 400),
        (form(file_part("a.txt")), "multipart/form-data", 400),
        (form(file_part("a.txt")), "multipart/form-data; boundary=é", 400),
        (form(file_part("a.txt")), "multipart/form-data; boundary=" + "b" * 300, 415),
        (b"{}", "application/json", 415),
        (b"file=a", "application/x-www-form-urlencoded", 415),
        (b"hello", "text/plain", 415),
    ],
)
def test_a_form_that_cannot_be_read_is_refused(cast: Cast, body: bytes, content_type: str, status: int) -> None:
    answer = post_raw(cast.a, UPLOAD, body, content_type=content_type)
    error_of(answer, status, "UNSUPPORTED_MEDIA_TYPE" if status == 415 else "VALIDATION_FAILED")


@pytest.mark.parametrize("cut", [1, 40, 60, 200])
def test_an_upload_that_is_broken_off_leaves_nothing(cast: Cast, local_store: Store, cut: int) -> None:
    whole = form(file_part("a.txt", content=b"x" * 500))
    extra = {"wsgi.input": io.BytesIO(whole[:-cut]), "CONTENT_LENGTH": str(len(whole))}
    error_of(post_raw(cast.a, UPLOAD, whole, content_type=MULTIPART, **extra), 400)
    assert local_store.keys() == []
    assert not File.objects.exists()


def test_too_many_parts_are_refused(cast: Cast) -> None:
    fields = [(f'Content-Disposition: form-data; name="f{number}"', b"1") for number in range(1_001)]
    error_of(post_form(cast.a, *fields), 400)
    error_of(post_form(cast.a, *[file_part(f"{number}.txt") for number in range(101)]), 400)


def test_too_large_is_too_large(cast: Cast, settings: Any, local_store: Store) -> None:
    settings.MAX_UPLOAD_BYTES = 10
    error_of(upload(cast.a, b"x" * 11), 413, "REQUEST_TOO_LARGE")
    error_of(cast.a.post(BASE64, {"content": "eHh4" * 4}, format="json"), 413, "REQUEST_TOO_LARGE")
    settings.MAX_REQUEST_BYTES = 1_024
    error_of(upload(cast.a, b"x" * 1_100), 413, "REQUEST_TOO_LARGE")
    error_of(cast.a.post(BASE64, {"content": "eHh4" * 400}, format="json"), 413, "REQUEST_TOO_LARGE")
    assert local_store.keys() == []
    body_of(upload(cast.a, b"x" * 10), 201)


def test_a_large_field_beside_the_file_is_too_large(cast: Cast, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2_000
    error_of(upload(cast.a, metadata="m" * 3_000), 413, "REQUEST_TOO_LARGE")


@pytest.mark.parametrize(
    ("name", "declared", "kept"),
    [
        ("a.txt", "text/plain; charset=utf-16", "text/plain; charset=utf-16"),
        ("a.txt", 'text/plain; charset="iso-8859-1"', "text/plain; charset=iso-8859-1"),
        ("a.bin", "Text/Plain", "text/plain"),
        ("a.pdf", "application/octet-stream", "application/pdf"),
        ("a.md", "application/octet-stream", "text/markdown"),
        ("a.markdown", "application/octet-stream", "text/markdown"),
        ("a.txt.gz", "application/octet-stream", "application/octet-stream"),
        ("a", "application/octet-stream", "application/octet-stream"),
        ("a.pdf", "text/plain", "text/plain"),
        ("a.x", "application/vnd.api+json", "application/vnd.api+json"),
    ],
)
def test_the_declared_type_is_kept_and_a_missing_one_guessed(cast: Cast, name: str, declared: str, kept: str) -> None:
    record = body_of(post_form(cast.a, file_part(name, f"Content-Type: {declared}")), 201)
    assert record["content_type"] == kept


def test_a_part_without_a_type_gets_that_of_its_name(cast: Cast) -> None:
    assert body_of(post_form(cast.a, file_part("a.pdf")), 201)["content_type"] == "application/pdf"
    record = body_of(base64_upload(cast.a, filename="b.txt", content_type="text/plain;charset=koi8-r"), 201)
    assert record["content_type"] == "text/plain;charset=koi8-r"


def test_a_part_with_a_type_that_is_none_is_refused(cast: Cast) -> None:
    assert names_field(post_form(cast.a, file_part("a.txt", "Content-Type: garbage")), "content_type")


@pytest.mark.parametrize("declared", ["base64", "zlib", "no-such-charset", "utf-16"])
def test_a_charset_of_the_form_itself_is_no_crash(cast: Cast, declared: str) -> None:
    answer = post_raw(cast.a, UPLOAD, form(file_part("a.txt")), content_type=f"{MULTIPART}; charset={declared}")
    body_of(answer, 201)


def test_a_path_is_taken_once_in_a_project(cast: Cast, local_store: Store) -> None:
    body_of(upload(cast.a, prefix="/a"), 201)
    for answer in (
        upload(cast.a, prefix="a/"),
        upload(cast.a, b"other", name="x", prefix="//a", filename="notes.txt"),
        base64_upload(cast.a, prefix="/a", filename="notes.txt"),
    ):
        assert error_of(answer, 409, "NAME_CONFLICT")["meta"] == {"path": "/a/notes.txt"}
    body_of(upload(cast.b, prefix="/a"), 201)
    body_of(upload(cast.a, prefix="/A"), 201)
    assert len(local_store.keys()) == 3


def test_the_longest_path_fits_the_index(cast: Cast) -> None:
    prefix = "/" + "".join(chr(0x20000 + number) for number in range(390))
    name = "".join(chr(0x28000 + number) for number in range(255))
    assert body_of(base64_upload(cast.a, prefix=prefix, filename=name), 201)["path"] == f"{prefix}/{name}"
    prefix = "/" + "é" * 699
    assert body_of(base64_upload(cast.a, prefix=prefix, filename=name), 201)["path"] == f"{prefix}/{name}"


def test_the_project_is_the_one_that_is_named_or_bound(cast: Cast) -> None:
    a, b = cast.project_a.public_id, cast.project_b.public_id
    assert body_of(upload(cast.a, project_id=a), 201)["project_id"] == a
    assert body_of(upload(cast.admin, project_id=b), 201)["project_id"] == b
    assert body_of(base64_upload(cast.admin, project_id=b), 201)["project_id"] == b
    for send in (upload, base64_upload):
        scope = error_of(send(cast.a, project_id=b), 403, "API_KEY_PROJECT_SCOPE")
        assert scope["meta"] == {"scoped_project": a, "requested_project": b}
        error_of(send(cast.admin, project_id="proj_doesnotexist0000"), 403, "FORBIDDEN")
        assert error_of(send(cast.admin), 400)["meta"] == {"missingFields": ["project_id"]}
        error_of(send(cast.outsider), 403, "FORBIDDEN")
        error_of(send(cast.outsider, project_id=a), 403, "FORBIDDEN")
        error_of(send(cast.outsider, project_id=a, nope="1"), 403, "FORBIDDEN")
        error_of(send(cast.anonymous), 401, "UNAUTHORIZED")


def test_permission_comes_before_the_body(cast: Cast) -> None:
    for client, code in ((cast.outsider, "FORBIDDEN"), (cast.anonymous, "UNAUTHORIZED")):
        status = 403 if code == "FORBIDDEN" else 401
        error_of(post_raw(client, UPLOAD, b"garbage", content_type=MULTIPART), status, code)
        error_of(post_raw(client, UPLOAD, b"{}", content_type="application/json"), status, code)
        error_of(post_raw(client, BASE64, b"{", content_type="application/json"), status, code)
        error_of(post_raw(client, BASE64, b"{}", content_type="text/plain"), status, code)


def test_the_temporary_file_of_a_large_upload_is_gone(cast: Cast, settings: Any, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "uploads")
    (tmp_path / "uploads").mkdir()
    for content, status in ((b"x" * 5_000, 201), (b"y" * 5_000, 409)):
        assert upload(cast.a, content, "large.bin").status_code == status
    assert list((tmp_path / "uploads").iterdir()) == []
