"""Asking for the ingestion of a file."""

from typing import Any

import pytest
from django.conf import LazySettings

from documents.models import Document
from soat.files.models import File
from soat.files.storage import discard_bytes
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.pdfs import HANDBOOK, pdf
from tests.documents.steps import (
    DOCUMENTS,
    PDF,
    chunks,
    current,
    error,
    faulty_fields,
    ingest,
    ingested,
    post,
    read,
    run_queued,
    search,
    status,
    texts,
    upload,
)

INGEST = f"{DOCUMENTS}/ingest"


def test_a_file_is_accepted_and_then_ready(cast: Cast) -> None:
    file = upload(cast.a, b"The gate opens at seven.", "notes.txt", prefix="/docs")
    record = ingest(cast.a, file, tags={"t": "1"})
    assert record == {
        "id": record["id"],
        "file_id": file["id"],
        "project_id": cast.project_a.public_id,
        "path": "/docs/notes.txt",
        "filename": "notes.txt",
        "content_type": "text/plain",
        "size": 24,
        "status": "pending",
        "title": "notes.txt",
        "tags": {"t": "1"},
        "chunk_strategy": "page",
        "chunk_count": 0,
        "created_at": record["created_at"],
        "updated_at": record["updated_at"],
    }
    waiting = {"chunk_count": 0, "total_chunks": None, "total_pages": None, "progress": 0, "error": None}
    assert status(cast.a, record["id"]) == {"id": record["id"], "status": "pending", **waiting}
    assert read(cast.a, record["id"])["content"] is None
    assert search(cast.a, "when does the gate open") == []
    run_queued()
    settled = {"chunk_count": 1, "total_chunks": 1, "total_pages": 1, "progress": 100, "error": None}
    assert status(cast.a, record["id"]) == {"id": record["id"], "status": "ready", **settled}
    assert read(cast.a, record["id"])["content"] == "The gate opens at seven."
    assert [found["document_id"] for found in search(cast.a, "when does the gate open")] == [record["id"]]
    invariants.check()


def test_waiting_answers_the_settled_document(committed_cast: Cast, eager_tasks: None) -> None:
    file = upload(committed_cast.a, b"one two three", "n.txt")
    response = post(committed_cast.a, f"{INGEST}?wait=true", {"file_id": file["id"]})
    assert response.status_code == 201
    assert response.json()["status"] == "ready"
    assert response.json()["chunk_count"] == 1
    assert response.json()["updated_at"] > response.json()["created_at"]
    invariants.check()


def test_a_failure_that_was_waited_for_is_no_error(committed_cast: Cast, eager_tasks: None) -> None:
    file = upload(committed_cast.a, b"", "empty.txt")
    response = post(committed_cast.a, f"{INGEST}?wait=true", {"file_id": file["id"]})
    assert response.status_code == 201
    assert response.json()["status"] == "failed"
    assert response.json()["chunk_count"] == 0
    assert status(committed_cast.a, response.json()["id"]) == {
        "id": response.json()["id"],
        "status": "failed",
        "chunk_count": 0,
        "total_chunks": None,
        "total_pages": None,
        "progress": None,
        "error": "FILE_PARSE_FAILED",
    }
    invariants.check()


def test_waiting_ends_before_the_work_does(committed_cast: Cast, settings: LazySettings) -> None:
    settings.SYNC_WAIT_TIMEOUT_MS = 100
    file = upload(committed_cast.a, b"nobody works on this", "n.txt")
    response = post(committed_cast.a, f"{INGEST}?wait=true", {"file_id": file["id"]})
    assert response.status_code == 202
    assert response.json()["status"] == "pending"
    run_queued()
    assert status(committed_cast.a, response.json()["id"])["status"] == "ready"


@pytest.mark.parametrize("value", ["1", "true", "TRUE", "0", "false"])
def test_wait_is_a_flag(cast: Cast, settings: LazySettings, value: str) -> None:
    settings.SYNC_WAIT_TIMEOUT_MS = 1
    file = upload(cast.a, b"text", "n.txt")
    assert post(cast.a, f"{INGEST}?wait={value}", {"file_id": file["id"]}).status_code == 202


def test_a_large_file_cannot_be_waited_for(cast: Cast, settings: LazySettings) -> None:
    settings.SYNC_INGESTION_MAX_BYTES = 10
    file = upload(cast.a, b"eleven byte", "n.txt")
    response = post(cast.a, f"{INGEST}?wait=true", {"file_id": file["id"]})
    assert error(response) == (413, "FILE_TOO_LARGE_FOR_SYNC")
    assert not Document.objects.exists()
    record = ingest(cast.a, file)
    assert error(post(cast.a, f"{DOCUMENTS}/{record['id']}/ingest?wait=true")) == (413, "FILE_TOO_LARGE_FOR_SYNC")
    run_queued()
    assert status(cast.a, record["id"])["status"] == "ready"
    settings.SYNC_WAIT_TIMEOUT_MS = 1
    exact = upload(cast.a, b"ten bytes.", "m.txt")
    assert post(cast.a, f"{INGEST}?wait=true", {"file_id": exact["id"]}).status_code == 202


def test_a_file_is_ingested_once(cast: Cast) -> None:
    file = upload(cast.a, b"text", "n.txt")
    record = ingest(cast.a, file)
    for body in ({}, {"path_prefix": "/elsewhere"}):
        response = post(cast.a, INGEST, {"file_id": file["id"], **body})
        assert error(response) == (409, "FILE_ALREADY_INGESTED")
        assert response.json()["error"]["meta"] == {"file_id": file["id"], "document_id": record["id"]}
    assert Document.objects.count() == 1


def test_the_file_of_a_plain_text_document_is_ingested_already(cast: Cast) -> None:
    record = post(cast.a, DOCUMENTS, {"content": "text"}).json()
    response = post(cast.a, INGEST, {"file_id": record["file_id"]})
    assert error(response) == (409, "FILE_ALREADY_INGESTED")


def test_a_path_that_another_document_has_is_a_conflict(cast: Cast) -> None:
    ingest(cast.a, upload(cast.a, b"one", "n.txt"), path_prefix="/x")
    second = upload(cast.a, b"two", "n.txt", prefix="/y")
    response = post(cast.a, INGEST, {"file_id": second["id"], "path_prefix": "x/"})
    assert error(response) == (409, "NAME_CONFLICT")
    assert ingest(cast.a, second)["path"] == "/y/n.txt"


@pytest.mark.parametrize(
    "content_type", ["image/png", "application/octet-stream", "text/html", "application/pdfx", "text/plainer"]
)
def test_a_type_without_reader_is_refused(cast: Cast, content_type: str) -> None:
    file = upload(cast.a, b"data", "n.bin", content_type)
    response = post(cast.a, INGEST, {"file_id": file["id"]})
    assert error(response) == (400, "UNSUPPORTED_FILE_TYPE")
    assert not Document.objects.exists()


@pytest.mark.parametrize("content_type", ["TEXT/Plain", "text/markdown; charset=utf-8", 'text/plain;charset="UTF-8"'])
def test_types_are_read_without_case_and_parameters(cast: Cast, content_type: str) -> None:
    assert ingested(cast.a, b"text", "n.bin", content_type)["status"] == "ready"


def test_unknown_and_foreign_files_are_the_same(cast: Cast) -> None:
    foreign = upload(cast.b, b"b's own", "b.txt")
    answers = [
        post(cast.a, INGEST, {"file_id": file_id}).json()
        for file_id in ("file_doesnotexist0000", foreign["id"], "nonsense", "ü")
    ]
    assert answers[0]["error"]["code"] == "FILE_NOT_FOUND"
    assert all(answer == answers[0] for answer in answers)
    # The admin sees the file, but asks for it in the wrong project.
    response = post(cast.admin, INGEST, {"file_id": foreign["id"], "project_id": cast.project_a.public_id})
    assert (response.status_code, response.json()) == (400, answers[0])
    assert not Document.objects.exists()


@pytest.mark.parametrize(
    ("prefix", "path"),
    [
        ("/docs/", "/docs/n.txt"),
        ("docs", "/docs/n.txt"),
        ("//a//b/", "/a/b/n.txt"),
        ("/", "/n.txt"),
        ("", "/n.txt"),
        ("100%/_", "/100%/_/n.txt"),
        ("U\u0308", "/Ü/n.txt"),
    ],
)
def test_the_path_prefix_is_a_folder(cast: Cast, prefix: str, path: str) -> None:
    file = upload(cast.a, b"text", "n.txt", prefix="/up")
    assert ingest(cast.a, file, path_prefix=prefix)["path"] == path
    assert File.objects.get(public_id=file["id"]).path == "/up/n.txt"


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"file_id": None}, "file_id"),
        ({"file_id": 5}, "file_id"),
        ({"file_id": "a\x00"}, "file_id"),
        ({"path_prefix": "\x00"}, "path_prefix"),
        ({"path_prefix": "a" * 701}, "path_prefix"),
        ({"path_prefix": 5}, "path_prefix"),
        ({"tags": []}, "tags"),
        ({"chunk_strategy": "bogus"}, "chunk_strategy"),
        ({"chunk_size": 0}, "chunk_size"),
        ({"chunk_size": 4, "chunk_overlap": 4}, "chunk_overlap"),
        ({"title": "no such field here"}, "title"),
    ],
)
def test_a_wrong_value_is_refused_and_named(cast: Cast, sent: dict[str, Any], field: str) -> None:
    file = upload(cast.a, b"text", "n.txt")
    response = post(cast.a, INGEST, {"file_id": file["id"], **sent})
    assert error(response) == (400, "VALIDATION_FAILED")
    assert faulty_fields(response) == {field}
    assert not Document.objects.exists()


def test_a_path_too_long_for_an_index_names_the_prefix(cast: Cast) -> None:
    file = upload(cast.a, b"text", "界" * 250 + ".txt")
    response = post(cast.a, INGEST, {"file_id": file["id"], "path_prefix": "/" + "界" * 690})
    assert error(response) == (400, "VALIDATION_FAILED")
    assert faulty_fields(response) == {"path_prefix"}


def test_wrong_queries_are_refused(cast: Cast) -> None:
    file = upload(cast.a, b"text", "n.txt")
    for query, field in (("wait=perhaps", "wait"), ("wait=", "wait"), ("now=1", "now")):
        response = post(cast.a, f"{INGEST}?{query}", {"file_id": file["id"]})
        assert error(response) == (400, "VALIDATION_FAILED")
        assert faulty_fields(response) == {field}
    assert not Document.objects.exists()


def test_the_handbook_has_ten_pages(cast: Cast) -> None:
    record = ingested(cast.a, HANDBOOK.read_bytes(), "handbook.pdf", PDF)
    assert record["status"] == "ready"
    assert [chunk.page for chunk in chunks(record["id"])] == list(range(1, 11))
    assert record["content"] == "\n".join(texts(record["id"]))
    shown = status(cast.a, record["id"])
    assert (shown["total_pages"], shown["total_chunks"], shown["chunk_count"]) == (10, 10, 10)
    invariants.check()


def test_blank_pages_are_dropped_and_numbers_stay(cast: Cast) -> None:
    raw = pdf(["", "The second page.", "", "", "The fifth page.", ""])
    record = ingested(cast.a, raw, "blank.pdf", PDF)
    assert [(chunk.index, chunk.page) for chunk in chunks(record["id"])] == [(0, 2), (1, 5)]
    assert [text.strip() for text in texts(record["id"])] == ["The second page.", "The fifth page."]
    assert status(cast.a, record["id"])["total_pages"] == 6
    (found, *_) = search(cast.a, "the fifth page", limit=1)
    assert found["page"] == 5
    invariants.check()


@pytest.mark.parametrize(
    ("sent", "cut", "pages"),
    [
        ({}, ["Alpha beta.", "Gamma delta."], [1, 2]),
        ({"chunk_strategy": "whole"}, ["Alpha beta.\nGamma delta."], [None]),
        (
            {"chunk_strategy": "size", "chunk_size": 14, "chunk_overlap": 4},
            ["Alpha beta.\nGa", ".\nGamma delta."],
            [None, None],
        ),
    ],
)
def test_strategies_over_pages(cast: Cast, sent: dict[str, Any], cut: list[str], pages: list[int | None]) -> None:
    record = ingested(cast.a, pdf(["Alpha beta.", "Gamma delta."]), "p.pdf", PDF, **sent)
    assert texts(record["id"]) == cut
    assert [chunk.page for chunk in chunks(record["id"])] == pages
    assert record["content"] == "Alpha beta.\nGamma delta."
    assert record["chunk_strategy"] == sent.get("chunk_strategy", "page")
    invariants.check()


def test_the_bytes_may_be_gone(cast: Cast) -> None:
    file = upload(cast.a, b"text", "n.txt")
    record = ingest(cast.a, file)
    discard_bytes(File.objects.get(public_id=file["id"]).storage_key)
    run_queued()
    assert status(cast.a, record["id"])["error"] == "FILE_NOT_FOUND"
    assert current(record["id"]).error_detail
