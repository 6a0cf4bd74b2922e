"""Reading a document's file again."""

from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from documents.models import Document, DocumentChunk
from documents.recovery import clear_retired
from soat.files.models import File
from soat.files.storage import discard_bytes
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.steps import (
    DOCUMENTS,
    create,
    current,
    error,
    faulty_fields,
    ingested,
    post,
    read,
    reingest,
    run_queued,
    search,
    status,
    texts,
)


def test_plain_text_is_whole_by_default_and_files_are_pages(cast: Cast) -> None:
    sizes: dict[str, Any] = {"chunk_strategy": "size", "chunk_size": 4, "chunk_overlap": 0}
    plain = create(cast.a, "one two three", **sizes)
    file = ingested(cast.a, b"one two three", **sizes)
    assert reingest(cast.a, plain["id"])["chunk_strategy"] == "whole"
    assert reingest(cast.a, file["id"])["chunk_strategy"] == "page"
    run_queued()
    assert texts(plain["id"]) == texts(file["id"]) == ["one two three"]
    for document in (plain, file):
        assert "chunk_size" not in read(cast.a, document["id"])
    invariants.check()


def test_it_takes_chunk_values(cast: Cast) -> None:
    record = create(cast.a, "abcdefghij")
    answer = reingest(cast.a, record["id"], chunk_strategy="size", chunk_size=6, chunk_overlap=2)
    assert (answer["chunk_strategy"], answer["chunk_size"], answer["chunk_overlap"]) == ("size", 6, 2)
    assert answer["status"] == "pending"
    assert answer["chunk_count"] == 0
    run_queued()
    assert texts(record["id"]) == ["abcdef", "efghij"]
    assert read(cast.a, record["id"])["content"] == "abcdefghij"


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"chunk_size": 5, "chunk_overlap": 5}, "chunk_overlap"),
        ({"chunk_strategy": "bogus"}, "chunk_strategy"),
        ({"chunk_size": -3}, "chunk_size"),
        ({"content": "x"}, "content"),
    ],
)
def test_a_wrong_value_is_refused_and_changes_nothing(cast: Cast, sent: dict[str, Any], field: str) -> None:
    record = create(cast.a, "text")
    before = read(cast.a, record["id"])
    response = post(cast.a, f"{DOCUMENTS}/{record['id']}/ingest", sent)
    assert error(response) == (400, "VALIDATION_FAILED")
    assert faulty_fields(response) == {field}
    assert read(cast.a, record["id"]) == before
    assert current(record["id"]).number == 1


def test_an_unknown_document(cast: Cast) -> None:
    assert error(post(cast.a, f"{DOCUMENTS}/doc_doesnotexist0000/ingest")) == (404, "RESOURCE_NOT_FOUND")


def test_waiting_answers_the_settled_document(committed_cast: Cast, eager_tasks: None) -> None:
    record = create(committed_cast.a, "one two three")
    response = post(committed_cast.a, f"{DOCUMENTS}/{record['id']}/ingest?wait=true", {"chunk_strategy": "page"})
    assert response.status_code == 201
    assert response.json()["status"] == "ready"
    assert response.json()["chunk_count"] == 1
    invariants.check()


def test_old_chunks_are_found_until_the_switch(cast: Cast) -> None:
    record = create(cast.a, "The harbour closes at dusk.")
    (before,) = search(cast.a, "when does the harbour close")
    reingest(cast.a, record["id"], chunk_strategy="size", chunk_size=500, chunk_overlap=0)
    (meanwhile,) = search(cast.a, "when does the harbour close")
    assert meanwhile["chunk_id"] == before["chunk_id"]
    assert read(cast.a, record["id"])["content"] == "The harbour closes at dusk."
    assert read(cast.a, record["id"])["status"] == "pending"
    run_queued()
    (after,) = search(cast.a, "when does the harbour close")
    assert after["chunk_id"] != before["chunk_id"]
    assert after["content"] == before["content"]
    invariants.check()
    assert DocumentChunk.objects.count() == 2
    assert clear_retired() == 1
    assert DocumentChunk.objects.count() == 1
    assert [found["chunk_id"] for found in search(cast.a, "harbour")] == [after["chunk_id"]]
    invariants.check()


def test_a_failed_one_leaves_the_old_chunks(cast: Cast) -> None:
    record = ingested(cast.a, b"The harbour closes at dusk.")
    (before,) = search(cast.a, "harbour")
    file = File.objects.get(public_id=record["file_id"])
    discard_bytes(file.storage_key)
    reingest(cast.a, record["id"])
    run_queued()
    shown = status(cast.a, record["id"])
    assert (shown["status"], shown["error"], shown["progress"]) == ("failed", "FILE_NOT_FOUND", None)
    assert shown["chunk_count"] == 1
    assert [found["chunk_id"] for found in search(cast.a, "harbour")] == [before["chunk_id"]]
    assert read(cast.a, record["id"])["content"] == "The harbour closes at dusk."
    assert clear_retired() == 1
    assert [found["chunk_id"] for found in search(cast.a, "harbour")] == [before["chunk_id"]]


def test_a_failed_document_can_be_read_again(cast: Cast) -> None:
    record = ingested(cast.a, b"   ")
    assert record["status"] == "failed"
    assert record["content"] is None
    document = Document.objects.get(public_id=record["id"])
    discard_bytes(document.file.storage_key)
    default_storage.save(document.file.storage_key, ContentFile(b"repaired"))
    reingest(cast.a, record["id"])
    assert status(cast.a, record["id"])["error"] is None
    run_queued()
    assert read(cast.a, record["id"])["content"] == "repaired"
    invariants.check()


def test_again_while_the_first_waits(cast: Cast) -> None:
    record = create(cast.a, "abcdef")
    reingest(cast.a, record["id"], chunk_strategy="size", chunk_size=2, chunk_overlap=0)
    first = current(record["id"])
    reingest(cast.a, record["id"], chunk_strategy="size", chunk_size=3, chunk_overlap=0)
    first.refresh_from_db()
    assert first.state == "superseded"
    run_queued()
    assert texts(record["id"]) == ["abc", "def"]
    invariants.check()
