"""Deleting a document."""

import pytest

from documents import pipeline, services
from documents.models import ChunkVector, Document, DocumentChunk, DocumentPage, IngestionAttempt
from soat.files.models import File
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.pdfs import pdf
from tests.documents.steps import (
    DOCUMENTS,
    PDF,
    create,
    error,
    ingest,
    ingested,
    read,
    reingest,
    row,
    run_queued,
    search,
)

TABLES = (Document, IngestionAttempt, DocumentPage, DocumentChunk, ChunkVector)


def test_everything_goes_with_its_own_file(committed_cast: Cast) -> None:
    client = committed_cast.a
    record = create(client, "The lighthouse is red.", path="/l.txt")
    kept = create(client, "The mill is white.")
    assert client.delete(f"{DOCUMENTS}/{record['id']}").status_code == 204
    assert [model.objects.count() for model in TABLES] == [1, 1, 1, 1, 1]
    assert not File.objects.filter(public_id=record["file_id"]).exists()
    assert {found["document_id"] for found in search(client, "lighthouse")} == {kept["id"]}
    assert error(client.delete(f"{DOCUMENTS}/{record['id']}")) == (404, "RESOURCE_NOT_FOUND")
    assert error(client.get(f"{DOCUMENTS}/{record['id']}")) == (404, "RESOURCE_NOT_FOUND")
    invariants.check()  # the bytes are gone too
    assert create(client, "again", path="/l.txt")["path"] == "/l.txt"


def test_an_uploaded_file_stays_and_can_be_ingested_again(committed_cast: Cast) -> None:
    client = committed_cast.a
    record = ingested(client, pdf(["One.", "Two."]), "p.pdf", PDF)
    assert client.delete(f"{DOCUMENTS}/{record['id']}").status_code == 204
    assert [model.objects.count() for model in TABLES] == [0, 0, 0, 0, 0]
    assert client.get(f"/api/v1/files/{record['file_id']}").status_code == 200
    again = ingest(client, {"id": record["file_id"]})
    assert again["id"] != record["id"]
    run_queued()
    assert read(client, again["id"])["content"] == "One.\nTwo."
    invariants.check()
    assert client.delete(f"{DOCUMENTS}/{again['id']}").status_code == 204
    assert client.delete(f"/api/v1/files/{record['file_id']}").status_code == 204
    assert not invariants.stored_keys(committed_cast.project_a)


def test_rows_of_every_attempt_go(committed_cast: Cast) -> None:
    record = create(committed_cast.a, "text one")
    for _ in range(2):
        reingest(committed_cast.a, record["id"])
        run_queued()
    reingest(committed_cast.a, record["id"])
    assert IngestionAttempt.objects.count() == 4
    assert DocumentChunk.objects.count() == 3
    assert committed_cast.a.delete(f"{DOCUMENTS}/{record['id']}").status_code == 204
    assert [model.objects.count() for model in TABLES] == [0, 0, 0, 0, 0]


def test_it_is_all_or_nothing(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    record = create(committed_cast.a, "The lighthouse is red.")
    before = [model.objects.count() for model in TABLES]

    def refuse(self: File, *args: object, **kwargs: object) -> None:
        raise RuntimeError("the file cannot be deleted")

    monkeypatch.setattr(File, "delete", refuse)
    with pytest.raises(RuntimeError):
        services.delete_document(document=row(record["id"]))
    assert [model.objects.count() for model in TABLES] == before
    assert read(committed_cast.a, record["id"])["content"] == "The lighthouse is red."
    assert len(search(committed_cast.a, "lighthouse")) == 1
    invariants.check()


def test_a_file_under_a_document_cannot_go(cast: Cast) -> None:
    record = ingested(cast.a, b"text")
    assert error(cast.a.delete(f"/api/v1/files/{record['file_id']}")) == (409, "FILE_HAS_DEPENDENTS")
    assert read(cast.a, record["id"])["content"] == "text"


def test_a_document_that_waits_can_go(committed_cast: Cast) -> None:
    record = ingested(committed_cast.a, b"text")
    reingest(committed_cast.a, record["id"])
    attempt_id = row(record["id"]).current_attempt_id
    assert committed_cast.a.delete(f"{DOCUMENTS}/{record['id']}").status_code == 204
    assert attempt_id is not None
    pipeline.ingest(attempt_id)
    assert [model.objects.count() for model in TABLES] == [0, 0, 0, 0, 0]
