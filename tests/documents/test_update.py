"""Changing a document, and its tags."""

from typing import Any

import pytest

from documents.models import Document, DocumentChunk, IngestionAttempt
from documents.recovery import clear_retired
from soat.core.db import short_transaction
from soat.files.models import File
from soat.files.storage import open_bytes
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.pdfs import pdf
from tests.documents.steps import (
    DOCUMENTS,
    PDF,
    create,
    current,
    error,
    faulty_fields,
    ingested,
    patch,
    read,
    reingest,
    row,
    run_queued,
    search,
    texts,
    upload,
)
from tests.tenancy.policies import allow, caller_with


@pytest.mark.parametrize(
    "change",
    [
        {"title": "New"},
        {"path": "/new/place.txt"},
        {"metadata": {"camelCase": None}},
        {"metadata": {}},
        {"tags": {"a": "1"}},
        {"title": "New", "path": "/n.txt", "metadata": {"k": 2}, "tags": {}},
    ],
)
def test_fields_change_alone(cast: Cast, change: dict[str, Any]) -> None:
    record = create(cast.a, "text", path="/old.txt", title="Old", metadata={"k": 1}, tags={"b": "2"})
    response = patch(cast.a, f"{DOCUMENTS}/{record['id']}", change)
    assert response.status_code == 200
    changed = response.json()
    assert changed["updated_at"] > record["updated_at"]
    assert changed == {**record, **change, "updated_at": changed["updated_at"]}
    assert read(cast.a, record["id"]) == {**changed, "content": "text"}
    assert IngestionAttempt.objects.count() == 1


def test_what_changes_nothing_leaves_the_time(cast: Cast) -> None:
    record = create(cast.a, "text", path="/old.txt", title="Old")
    for change in ({}, {"title": "Old"}, {"path": "//old.txt/"}):
        assert patch(cast.a, f"{DOCUMENTS}/{record['id']}", change).json() == record


def test_a_path_can_be_taken_away(cast: Cast) -> None:
    record = create(cast.a, "text", path="/a/old.txt")
    changed = patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"path": None}).json()
    assert "path" not in changed
    assert row(record["id"]).file.path is None
    assert create(cast.a, "the path is free again", path="/a/old.txt")["path"] == "/a/old.txt"


def test_its_own_file_moves_along_and_an_uploaded_one_stays(cast: Cast) -> None:
    own = create(cast.a, "text", path="/a/own.txt")
    uploaded = ingested(cast.a, b"text", "up.txt")
    for record in (own, uploaded):
        assert patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"path": f"/moved/{record['id']}"}).status_code == 200
    assert (row(own["id"]).file.path, row(own["id"]).file.prefix) == (f"/moved/{own['id']}", "/moved")
    assert (row(uploaded["id"]).file.path, row(uploaded["id"]).file.prefix) == ("/up.txt", "/")


@pytest.mark.parametrize("owned", [True, False])
def test_a_path_of_another_document_is_a_conflict(cast: Cast, owned: bool) -> None:
    create(cast.a, "first", path="/taken.txt")
    record = create(cast.a, "x", path="/b.txt") if owned else ingested(cast.a, b"x", "b.txt")
    response = patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"path": "taken.txt", "title": "unchanged?"})
    assert error(response) == (409, "NAME_CONFLICT")
    shown = read(cast.a, record["id"])
    assert (shown["path"], shown.get("title")) == (record["path"], record.get("title"))


def test_a_path_of_a_file_is_a_conflict_for_its_own_file(cast: Cast) -> None:
    upload(cast.a, b"first", "taken.txt")
    record = create(cast.a, "second", path="/b.txt")
    response = patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"path": "/taken.txt"})
    assert error(response) == (409, "NAME_CONFLICT")
    assert read(cast.a, record["id"])["path"] == "/b.txt"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "\u200b"}, "content"),
        ({"content": "a\x00"}, "content"),
        ({"content": None}, "content"),
        ({"path": "/"}, "path"),
        ({"path": ""}, "path"),
        ({"path": "/" + "界" * 1000}, "path"),
        ({"title": 5}, "title"),
        ({"title": "x" * 513}, "title"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": "\ud800"}}, "metadata"),
        ({"tags": {"a": 1}}, "tags"),
        ({"zzz": 1}, "zzz"),
        ({"chunk_strategy": "size"}, "chunk_strategy"),
    ],
)
def test_a_wrong_value_is_refused_and_named(cast: Cast, change: dict[str, Any], field: str) -> None:
    record = create(cast.a, "text", path="/a.txt", title="T")
    before = read(cast.a, record["id"])
    response = patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"title": "other", **change})
    assert error(response) == (400, "VALIDATION_FAILED")
    assert faulty_fields(response) == {field}
    assert read(cast.a, record["id"]) == before
    invariants.check()


def test_an_unknown_document(cast: Cast) -> None:
    assert error(patch(cast.a, f"{DOCUMENTS}/doc_doesnotexist0000", {"title": "x"})) == (404, "RESOURCE_NOT_FOUND")
    # The body comes before existence.
    assert error(patch(cast.a, f"{DOCUMENTS}/doc_doesnotexist0000", {"zzz": 1})) == (400, "VALIDATION_FAILED")


def test_new_content_is_cut_with_the_documents_own_values(committed_cast: Cast) -> None:
    client = committed_cast.a
    record = create(client, "abcdefgh", chunk_strategy="size", chunk_size=4, chunk_overlap=1, path="/a.txt")
    old_key = row(record["id"]).file.storage_key
    response = patch(client, f"{DOCUMENTS}/{record['id']}", {"content": "ABCDEFGHIJ", "title": "New"})
    assert response.status_code == 200
    changed = response.json()
    assert (changed["status"], changed["title"], changed["size"]) == ("ready", "New", 10)
    assert (changed["chunk_strategy"], changed["chunk_size"], changed["chunk_overlap"]) == ("size", 4, 1)
    assert changed["updated_at"] > record["updated_at"]
    assert texts(record["id"]) == ["ABCD", "DEFG", "GHIJ"]
    assert read(client, record["id"])["content"] == "ABCDEFGHIJ"
    file = row(record["id"]).file
    assert file.storage_key != old_key
    with open_bytes(file.storage_key) as stored:
        assert stored.read() == b"ABCDEFGHIJ"
    invariants.check()  # the old bytes are gone
    reingest(client, record["id"])
    run_queued()
    assert read(client, record["id"])["content"] == "ABCDEFGHIJ"
    clear_retired()
    assert DocumentChunk.objects.count() == 1
    invariants.check()


def test_the_old_content_is_found_no_more(cast: Cast) -> None:
    record = create(cast.a, "Zebras graze on the plain.")
    patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"content": "Turbines spin in the dam."})
    assert [found["content"] for found in search(cast.a, "zebras graze on the plain")] == ["Turbines spin in the dam."]


def test_new_content_of_an_uploaded_text_stays_after_a_reingest(committed_cast: Cast) -> None:
    client = committed_cast.a
    record = ingested(client, "Größe".encode("latin-1"), "n.txt", "text/plain; charset=latin-1")
    assert record["content"] == "Größe"
    assert patch(client, f"{DOCUMENTS}/{record['id']}", {"content": "Länge 😀"}).status_code == 200
    assert File.objects.get(public_id=record["file_id"]).content_type == "text/plain"
    reingest(client, record["id"])
    run_queued()
    assert read(client, record["id"])["content"] == "Länge 😀"
    invariants.check()


def test_new_content_of_a_pdf_is_refused(cast: Cast) -> None:
    record = ingested(cast.a, pdf(["Some text."]), "p.pdf", PDF)
    before = read(cast.a, record["id"])
    response = patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"content": "x", "title": "y"})
    assert error(response) == (400, "VALIDATION_FAILED")
    assert faulty_fields(response) == {"content"}
    assert read(cast.a, record["id"]) == before
    assert patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"title": "y"}).json()["title"] == "y"


def test_metadata_during_ingestion_leaves_the_ingestion_alone(cast: Cast) -> None:
    record = ingested(cast.a, b"text")
    reingest(cast.a, record["id"])
    attempt = current(record["id"])
    changed = patch(cast.a, f"{DOCUMENTS}/{record['id']}", {"metadata": {"k": 1}, "path": "/m.txt"}).json()
    assert changed["status"] == "pending"
    attempt.refresh_from_db()
    assert attempt.state == "queued"
    run_queued()
    shown = read(cast.a, record["id"])
    assert (shown["status"], shown["metadata"], shown["path"]) == ("ready", {"k": 1}, "/m.txt")
    invariants.check()


def test_tags_are_read_replaced_and_merged(cast: Cast) -> None:
    record = create(cast.a, "text")
    path = f"{DOCUMENTS}/{record['id']}/tags"
    assert cast.a.get(path).json() == {}
    assert patch(cast.a, path, {"camelCase": "1"}).json() == {"camelCase": "1"}
    put = cast.a.put(path, {"a": "1", "b": "2"}, format="json")
    assert (put.status_code, put.json()) == (200, {"a": "1", "b": "2"})
    assert patch(cast.a, path, {"b": "3", "c": "4"}).json() == {"a": "1", "b": "3", "c": "4"}
    assert cast.a.get(path).json() == read(cast.a, record["id"])["tags"] == {"a": "1", "b": "3", "c": "4"}
    assert cast.a.put(path, {}, format="json").json() == {}
    assert read(cast.a, record["id"])["tags"] == {}
    assert read(cast.a, record["id"])["updated_at"] > record["updated_at"]


@pytest.mark.parametrize("body", [[], "x", 5, {"a": 1}, {"a": None}, {"a": "\x00"}, {"\ud800": "a"}, {"": "a"}])
def test_wrong_tags_are_refused(cast: Cast, body: Any) -> None:
    record = create(cast.a, "text", tags={"a": "1"})
    response = patch(cast.a, f"{DOCUMENTS}/{record['id']}/tags", body)
    assert error(response) == (400, "VALIDATION_FAILED")
    assert cast.a.get(f"{DOCUMENTS}/{record['id']}/tags").json() == {"a": "1"}


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        ("patch", "/tags", {"x": "1"}),
        ("put", "/tags", {"team": "ours"}),
        ("patch", "", {"title": "New"}),
        ("patch", "", {"content": "New"}),
        ("post", "/ingest", {}),
        ("delete", "", None),
    ],
)
def test_a_document_that_has_just_been_taken_away_is_not_changed(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, readable: bool, change: tuple[str, str, Any]
) -> None:
    method, suffix, body = change
    record = create(cast.a, "text", tags={"team": "ours"})
    reading = [allow("documents:GetDocument")] if readable else []
    client = caller_with(allow("documents:*", StringEquals={"soat:ResourceTag/team": "ours"}), *reading)

    def opened() -> Any:
        Document.objects.update(tags={"team": "theirs"})
        return short_transaction()

    monkeypatch.setattr("documents.services.short_transaction", opened)
    response = getattr(client, method)(f"{DOCUMENTS}/{record['id']}{suffix}", body, format="json")
    assert error(response) == ((403, "FORBIDDEN") if readable else (404, "RESOURCE_NOT_FOUND"))
    assert read(cast.a, record["id"]) == {**record, "content": "text", "tags": {"team": "theirs"}}
    assert IngestionAttempt.objects.count() == 1
