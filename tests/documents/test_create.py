"""Creating plain-text documents."""

# ruff: noqa: RUF001 - texts in many scripts

import unicodedata
from typing import Any

import pytest

from documents.models import ChunkVector, Document
from soat.files.models import File
from soat.files.storage import open_bytes
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.embedders import FakeEmbedder
from tests.documents.steps import (
    DOCUMENTS,
    chunks,
    create,
    error,
    faulty_fields,
    ingested,
    post,
    read,
    row,
    search,
    status,
    texts,
    upload,
)

DECOMPOSED = unicodedata.normalize("NFD", "/Übersicht/Größe.txt")
COMPOSED = unicodedata.normalize("NFC", DECOMPOSED)


def test_every_field_comes_back(cast: Cast) -> None:
    body = {
        "project_id": cast.project_a.public_id,
        "content": "Refunds are processed within five business days. Contact support for help.",
        "path": "/policies/refund.txt",
        "filename": "refund.txt",
        "title": "Refund policy",
        "metadata": {"strapiId": 7, "n": None, "camelKey": {"Deep_Key": [1.5, "x"]}},
        "tags": {"department": "sales", "Camel-Key": "ä"},
        "chunk_strategy": "size",
        "chunk_size": 30,
        "chunk_overlap": 5,
    }
    record = create(cast.admin, **body)
    sent = {name: value for name, value in body.items() if name != "content"}
    assert {name: record[name] for name in sent} == sent
    assert record["content_type"] == "text/plain"
    assert record["size"] == len(body["content"])
    assert record["status"] == "ready"
    assert record["id"].startswith("doc_")
    assert record["file_id"].startswith("file_")
    assert record["created_at"].endswith("Z")
    assert read(cast.a, record["id"]) == {**record, "content": body["content"]}
    invariants.check()


def test_what_was_not_said_is_left_out(cast: Cast) -> None:
    record = create(cast.a, "minimal doc")
    assert set(record) == {
        *("id", "file_id", "project_id", "filename", "content_type", "size", "status", "chunk_strategy"),
        *("created_at", "updated_at"),
    }
    assert record["filename"] == "document.txt"
    assert record["chunk_strategy"] == "whole"
    assert record["project_id"] == cast.project_a.public_id
    assert set(read(cast.a, record["id"])) == {*record, "content"}
    file = row(record["id"]).file
    assert (file.path, file.prefix, file.filename) == (None, "/", "document.txt")


def test_it_is_searchable_at_once(cast: Cast) -> None:
    record = create(cast.a, "The warranty covers two years.", title="Warranty")
    (found,) = search(cast.a, "how long is the warranty")
    assert found["document_id"] == record["id"]
    assert found["content"] == "The warranty covers two years."
    assert status(cast.a, record["id"]) == {
        "id": record["id"],
        "status": "ready",
        "chunk_count": 1,
        "total_chunks": 1,
        "total_pages": 1,
        "progress": 100,
        "error": None,
    }


@pytest.mark.parametrize(
    ("sent", "effective"),
    [
        ({}, {"chunk_strategy": "whole"}),
        ({"chunk_strategy": "page"}, {"chunk_strategy": "page"}),
        ({"chunk_strategy": "whole", "chunk_size": 10}, {"chunk_strategy": "whole"}),
        ({"chunk_strategy": "size"}, {"chunk_strategy": "size", "chunk_size": 1000, "chunk_overlap": 200}),
        (
            {"chunk_strategy": "size", "chunk_size": 300},
            {"chunk_strategy": "size", "chunk_size": 300, "chunk_overlap": 150},
        ),
        (
            {"chunk_strategy": "size", "chunk_overlap": 0},
            {"chunk_strategy": "size", "chunk_size": 1000, "chunk_overlap": 0},
        ),
        (
            {"chunk_strategy": "size", "chunk_size": 100_000, "chunk_overlap": 99_999},
            {"chunk_strategy": "size", "chunk_size": 100_000, "chunk_overlap": 99_999},
        ),
    ],
)
def test_the_effective_chunk_values_are_returned(cast: Cast, sent: dict[str, Any], effective: dict[str, Any]) -> None:
    record = create(cast.a, "one two three", **sent)
    for shown in (record, read(cast.a, record["id"]), cast.a.get(DOCUMENTS).json()["data"][0]):
        assert {name: value for name, value in shown.items() if name.startswith("chunk_")} == effective


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"chunk_size": 0}, "chunk_size"),
        ({"chunk_size": -1}, "chunk_size"),
        ({"chunk_size": 100_001}, "chunk_size"),
        ({"chunk_size": 2**60}, "chunk_size"),
        ({"chunk_size": "100"}, "chunk_size"),
        ({"chunk_size": 10.0}, "chunk_size"),
        ({"chunk_size": True}, "chunk_size"),
        ({"chunk_size": 5, "chunk_overlap": 5}, "chunk_overlap"),
        ({"chunk_size": 5, "chunk_overlap": 50}, "chunk_overlap"),
        ({"chunk_overlap": 1000}, "chunk_overlap"),
        ({"chunk_overlap": -1}, "chunk_overlap"),
        ({"chunk_overlap": []}, "chunk_overlap"),
        ({"chunk_strategy": "bogus"}, "chunk_strategy"),
        ({"chunk_strategy": 5}, "chunk_strategy"),
        ({"chunk_strategy": "whole", "chunk_size": 0}, "chunk_size"),
        ({"content": "   \n\t "}, "content"),
        ({"content": "\u200b\u200b\ufeff"}, "content"),
        ({"content": ""}, "content"),
        ({"content": None}, "content"),
        ({"content": "a\x00b"}, "content"),
        ({"content": "a\ud800b"}, "content"),
        ({"content": 5}, "content"),
        ({"content": ["x"]}, "content"),
        ({"path": "/a\x00"}, "path"),
        ({"path": "/\udfff"}, "path"),
        ({"path": "/"}, "path"),
        ({"path": "//"}, "path"),
        ({"path": " "}, "path"),
        ({"path": ""}, "path"),
        ({"path": "/" + "a" * 1024}, "path"),
        ({"path": "/" + "界" * 1000}, "path"),
        ({"path": 7}, "path"),
        ({"filename": "a/b.txt"}, "filename"),
        ({"filename": "a\\b.txt"}, "filename"),
        ({"filename": "a\nb"}, "filename"),
        ({"filename": "a" * 256}, "filename"),
        ({"filename": ""}, "filename"),
        ({"title": "t" * 513}, "title"),
        ({"title": "t\x00"}, "title"),
        ({"metadata": "str"}, "metadata"),
        ({"metadata": {"k": "\x00"}}, "metadata"),
        ({"metadata": {"\x00": 1}}, "metadata"),
        ({"metadata": {"k": "\ud800"}}, "metadata"),
        ({"tags": ["x"]}, "tags"),
        ({"tags": {"a": 1}}, "tags"),
        ({"tags": {"a": "\x00"}}, "tags"),
        ({"zzz": 1}, "zzz"),
    ],
)
def test_a_wrong_value_is_refused_and_named(cast: Cast, sent: dict[str, Any], field: str) -> None:
    response = post(cast.a, DOCUMENTS, {"content": "some text", **sent})
    assert error(response) == (400, "VALIDATION_FAILED")
    assert field in response.json()["error"]["message"] or field in faulty_fields(response)
    assert faulty_fields(response) == {field}
    assert not Document.objects.exists()
    assert not File.objects.exists()
    assert not invariants.stored_keys(cast.project_a)


@pytest.mark.parametrize(
    ("sent", "path", "folder"),
    [
        ({"path": "a/b.txt"}, "/a/b.txt", "/a"),
        ({"path": "//a///b.txt/"}, "/a/b.txt", "/a"),
        ({"path": "/a/b.txt", "filename": "c.txt"}, "/a/b.txt", "/a"),
        ({"filename": "only.txt"}, "/only.txt", "/"),
        ({"path": "../../etc/x"}, "/../../etc/x", "/../../etc"),
        ({"path": "/100%_\\done.txt"}, "/100%_\\done.txt", "/"),
        ({"path": DECOMPOSED}, COMPOSED, "/Übersicht"),
        ({"path": "/" + "a" * 1023}, "/" + "a" * 1023, "/"),
        ({"path": "/" + "界" * 860}, "/" + "界" * 860, "/"),
        ({}, None, "/"),
    ],
)
def test_paths_are_brought_to_one_form(cast: Cast, sent: dict[str, str], path: str | None, folder: str) -> None:
    record = create(cast.a, "text", **sent)
    assert record.get("path") == path
    assert record["filename"] == sent.get("filename", "document.txt")
    file = row(record["id"]).file
    assert (file.path, file.prefix) == (path, folder)


def test_names_and_tags_are_composed_but_content_is_verbatim(cast: Cast) -> None:
    decomposed = unicodedata.normalize("NFD", "Größe é")
    composed = unicodedata.normalize("NFC", decomposed)
    record = create(cast.a, decomposed, filename=decomposed, tags={"k": decomposed})
    assert record["filename"] == composed
    assert record["tags"] == {"k": composed}
    assert read(cast.a, record["id"])["content"] == decomposed


@pytest.mark.parametrize("taken_by", ["document", "file", "ingested file"])
def test_a_taken_path_is_a_conflict(cast: Cast, taken_by: str) -> None:
    if taken_by == "document":
        create(cast.a, "first", path="/a/Größe.txt")
    elif taken_by == "file":
        upload(cast.a, b"first", "Größe.txt", prefix="/a")
    else:
        ingested(cast.a, b"first", "other.txt", path_prefix="/a")
    path = "/a/other.txt" if taken_by == "ingested file" else unicodedata.normalize("NFD", "a//Größe.txt")
    before = (Document.objects.count(), File.objects.count(), invariants.stored_keys(cast.project_a))
    response = post(cast.a, DOCUMENTS, {"content": "again", "path": path})
    assert error(response) == (409, "NAME_CONFLICT")
    assert response.json()["error"]["meta"]["path"] == unicodedata.normalize("NFC", "/" + path.strip("/")).replace(
        "//", "/"
    )
    assert (Document.objects.count(), File.objects.count(), invariants.stored_keys(cast.project_a)) == before
    assert create(cast.b, "the other project has paths of its own", path=path)["status"] == "ready"


def test_documents_without_path_never_collide(cast: Cast) -> None:
    ids = {create(cast.a, "same text")["id"] for _ in range(3)}
    assert len(ids) == 3


def test_metadata_and_tags_keep_their_keys(cast: Cast) -> None:
    metadata = {"camelCase": 1, "snake_case": {"AndMore": None}, "": "empty", "ключ": [True, False, None, 1e-3]}
    tags = {"camelCase": "A", "ключ": "ж"}
    record = create(cast.a, "text", metadata=metadata, tags=tags)
    assert read(cast.a, record["id"])["metadata"] == metadata
    assert read(cast.a, record["id"])["tags"] == tags


def test_empty_metadata_and_tags_are_values(cast: Cast) -> None:
    record = create(cast.a, "text", metadata={}, tags={})
    assert record["metadata"] == {}
    assert record["tags"] == {}


def test_the_content_is_the_text_and_the_file(cast: Cast) -> None:
    content = "Zeile eins\r\n\r\nЗдравствуй 😀\n\ttab  "
    record = create(cast.a, content)
    assert read(cast.a, record["id"])["content"] == content
    assert record["size"] == len(content.encode())
    with open_bytes(row(record["id"]).file.storage_key) as stored:
        assert stored.read() == content.encode()


def test_windows_overlap_and_the_content_does_not(cast: Cast) -> None:
    content = "abcdefghij" * 30
    record = create(cast.a, content, chunk_strategy="size", chunk_size=100, chunk_overlap=20)
    assert texts(record["id"]) == [content[0:100], content[80:180], content[160:260], content[240:300]]
    assert [(chunk.start, chunk.end) for chunk in chunks(record["id"])] == [(0, 100), (80, 180), (160, 260), (240, 300)]
    assert read(cast.a, record["id"])["content"] == content
    invariants.check()


def test_graphemes_stay_whole(cast: Cast) -> None:
    record = create(cast.a, "👩‍👩‍👧‍👦" * 6, chunk_strategy="size", chunk_size=10, chunk_overlap=0)
    assert set(texts(record["id"])) == {"👩‍👩‍👧‍👦"}


def test_a_text_over_the_limit_of_a_chunk_is_cut_with_a_warning(cast: Cast, free_embedder: FakeEmbedder) -> None:
    content = ("word " * 19_999 + "end.\n\n") * 2 + "tail"
    record = create(cast.a, content)
    assert len(chunks(record["id"])) >= 2
    assert all(len(text) <= 100_000 for text in texts(record["id"]))
    shown = read(cast.a, record["id"])
    assert shown["content"] == content
    assert len(shown["warnings"]) == 1
    assert "warnings" not in read(cast.a, create(cast.a, "short")["id"])


def test_a_long_chunk_has_a_vector_for_each_of_its_windows(cast: Cast) -> None:
    record = create(cast.a, "The ferry leaves at noon. " * 100)
    vectors = ChunkVector.objects.filter(chunk__document__public_id=record["id"])
    assert sorted(vectors.values_list("window", flat=True)) == list(range(vectors.count()))
    assert vectors.count() > 1


def test_a_body_that_is_no_object(cast: Cast) -> None:
    for raw in ("[]", '"x"', "5", "{", "\ufeff"):
        response = cast.a.post(DOCUMENTS, raw, content_type="application/json")
        assert error(response) == (400, "VALIDATION_FAILED"), raw


def test_form_encoded_bodies_are_read(cast: Cast) -> None:
    body = "content=some+text&chunk_strategy=size&chunk_size=100&metadata=%7B%22k%22%3A1%7D"
    response = cast.a.post(DOCUMENTS, body, content_type="application/x-www-form-urlencoded")
    assert response.status_code == 201, response.content
    assert response.json()["chunk_size"] == 100
    assert response.json()["metadata"] == {"k": 1}
    assert cast.a.post(DOCUMENTS, "x", content_type="text/plain").status_code == 415
