"""Embedders, storages, databases and code that fail while a document is made."""

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, InterfaceError, OperationalError, connection
from django.utils import timezone

from documents import pipeline
from documents.models import AttemptState, ChunkVector, Document, DocumentChunk, DocumentPage
from documents.recovery import sweep
from embeddings.port import EmbedderMisconfigured
from embeddings.services import embed_documents
from soat.core.errors import ServiceUnavailable
from soat.files.models import File
from soat.files.storage import save_bytes
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.embedders import FakeEmbedder, Reply, constant_vector, rejects, unavailable
from tests.documents.steps import (
    DOCUMENTS,
    chunks,
    create,
    current,
    error,
    ingest,
    ingested,
    patch,
    post,
    read,
    reingest,
    row,
    run_queued,
    search,
    status,
    texts,
    upload,
)

PIECES: dict[str, Any] = {"chunk_strategy": "size", "chunk_size": 10, "chunk_overlap": 0}
TEXT = "".join(f"piece {number:04d}" for number in range(12))


def misconfigured(text: str) -> Any:
    raise EmbedderMisconfigured("The key is wrong.")


@pytest.mark.parametrize("reply", [unavailable, misconfigured])
@pytest.mark.parametrize("way", ["create", "ingest", "patch"])
def test_an_embedder_that_is_down_holds_nothing_up(
    cast: Cast, use_embedder: Callable[[Reply], FakeEmbedder], reply: Reply, way: str
) -> None:
    before = create(cast.a, "with a vector") if way == "patch" else None
    use_embedder(reply)
    if way == "create":
        document = create(cast.a, TEXT, **PIECES)["id"]
    elif way == "ingest":
        document = ingested(cast.a, TEXT.encode(), **PIECES)["id"]
    else:
        assert before is not None
        document = before["id"]
        assert patch(cast.a, f"{DOCUMENTS}/{document}", {"content": TEXT}).status_code == 200
    assert read(cast.a, document)["status"] == "ready"
    assert read(cast.a, document)["content"] == TEXT
    stored = chunks(document)
    assert len(stored) == (1 if way == "patch" else 12)
    assert all(chunk.awaits_vector for chunk in stored)
    assert not ChunkVector.objects.filter(chunk__in=stored).exists()
    found = post(cast.a, "/api/v1/knowledge/search", {"document_ids": [document], "limit": 100}).json()["results"]
    assert [result["content"] for result in found] == texts(document)


def test_a_text_that_is_refused_for_good_waits_for_nothing(
    cast: Cast, use_embedder: Callable[[Reply], FakeEmbedder]
) -> None:
    use_embedder(rejects("piece 0005"))
    document = ingested(cast.a, TEXT.encode(), **PIECES)["id"]
    assert read(cast.a, document)["status"] == "ready"
    stored = chunks(document)
    assert [chunk.awaits_vector for chunk in stored] == [False] * 12
    without = [chunk.index for chunk in stored if not chunk.vectors.exists()]
    assert without == [5]
    invariants.check()


def test_a_provider_that_is_down_is_waited_for_less_until_it_answers(
    cast: Cast, use_embedder: Callable[[Reply], FakeEmbedder]
) -> None:
    first_batch = tuple(f"piece {number:04d}" for number in range(4))
    embedder = use_embedder(lambda text: unavailable(text) if text in first_batch else constant_vector(text))
    document = ingested(cast.a, TEXT.encode(), **PIECES)["id"]
    asked = {
        urgent: {
            text
            for texts, flag in zip(embedder.calls, embedder.urgent, strict=True)
            if flag is urgent
            for text in texts
        }
        for urgent in (False, True)
    }
    assert asked[False] == {*first_batch, *(f"piece {number:04d}" for number in range(8, 12))}
    assert asked[True] == {f"piece {number:04d}" for number in range(4, 8)}
    assert [chunk.awaits_vector for chunk in chunks(document)] == [True] * 4 + [False] * 8
    invariants.check()


def test_no_embedder_at_all(cast: Cast, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = ""
    document = ingested(cast.a, TEXT.encode(), **PIECES)["id"]
    assert read(cast.a, document)["status"] == "ready"
    assert all(chunk.awaits_vector for chunk in chunks(document))
    assert not ChunkVector.objects.exists()


@pytest.mark.parametrize("table", ["documents_documentpage", "documents_documentchunk", "documents_chunkvector"])
def test_nothing_is_half_written(cast: Cast, free_embedder: FakeEmbedder, table: str) -> None:
    """The database refuses one row of a batch, by a trigger: a bug in our rows would look the same."""
    document = ingested(cast.a, b"The old text.", "old.txt")["id"]
    key = {"documents_documentpage": "index", "documents_documentchunk": "index", "documents_chunkvector": "window"}
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP SEQUENCE seen")
        condition = f"nextval('seen') > 5 OR TG_TABLE_NAME = 'documents_documentpage' AND NEW.{key[table]} >= 0"
        cursor.execute(
            "CREATE FUNCTION pg_temp.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" IF {condition} THEN RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation'; END IF;"
            " RETURN NEW; END $$"
        )
        cursor.execute(f"CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION pg_temp.refuse()")
    File.objects.filter(pk=row(document).file_id).update(storage_key=_stored(TEXT))
    reingest(cast.a, document, **PIECES)
    attempt = current(document)
    run_queued()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER refuse ON {table}")
    attempt.refresh_from_db()
    assert (attempt.state, attempt.error) == (AttemptState.FAILED, "FILE_PARSE_FAILED")
    assert "refused" in attempt.error_detail
    written = DocumentChunk.objects.filter(attempt=attempt)
    assert attempt.chunk_count == written.count() == (4 if table == "documents_documentchunk" else written.count())
    assert ChunkVector.objects.filter(chunk__in=written).count() == written.count()
    assert texts(document) == ["The old text."]
    assert {found["content"] for found in search(cast.a, "text", limit=100)} == {"The old text."}


def _stored(text: str) -> str:
    key = f"test/{id(text)}-{timezone.now().timestamp()}"
    save_bytes(key, io.BytesIO(text.encode()))
    return key


HEALS = [
    ServiceUnavailable("The file storage does not answer."),
    OperationalError("the server closed the connection"),
    InterfaceError("the connection is closed"),
    OSError(28, "No space left on device"),
]
NOT_HEALS = [
    (ValueError("a bug"), "FILE_PARSE_FAILED"),
    (IntegrityError("a bug in our rows"), "FILE_PARSE_FAILED"),
    (RecursionError(), "FILE_PARSE_FAILED"),
    (MemoryError(), "FILE_LIMIT_EXCEEDED"),
]
STAGES = ["open_bytes", "extract_pages", "iter_chunks", "embed_documents", "store_chunks", "settle"]


def _failing(fault: Exception) -> Callable[..., Any]:
    def fail(*arguments: Any, **options: Any) -> Any:
        raise fault

    return fail


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", HEALS, ids=repr)
def test_what_can_heal_is_tried_again(
    cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch, stage: str, fault: Exception
) -> None:
    document = ingest(cast.a, upload(cast.a, TEXT.encode()), **PIECES)["id"]
    attempt = current(document)
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, stage, _failing(fault))
        run_queued()
    assert status(cast.a, document)["status"] == "processing"
    assert sweep() == []
    attempt.refresh_from_db()
    assert attempt.lease_expires_at is not None
    assert attempt.lease_expires_at > timezone.now(), "it is left to its lease"
    attempt.lease_expires_at = timezone.now() - timedelta(seconds=1)
    attempt.save()
    assert sweep() == [current(document).pk]
    run_queued()
    assert read(cast.a, document)["content"] == TEXT
    assert len(texts(document)) == 12
    invariants.check()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault_and_code", NOT_HEALS, ids=repr)
def test_what_nobody_expected_is_a_failure_with_a_reason(
    cast: Cast,
    free_embedder: FakeEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    fault_and_code: tuple[Exception, str],
) -> None:
    fault, code = fault_and_code
    document = ingest(cast.a, upload(cast.a, TEXT.encode()), **PIECES)["id"]
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, stage, _failing(fault))
        run_queued()
    assert status(cast.a, document)["status"] == "failed"
    assert status(cast.a, document)["error"] == code
    assert current(document).error_detail
    assert read(cast.a, document)["content"] is None
    assert sweep() == []
    invariants.check()
    reingest(cast.a, document, **PIECES)
    run_queued()
    assert read(cast.a, document)["content"] == TEXT
    invariants.check()


@pytest.mark.parametrize("way", ["create", "patch"])
@pytest.mark.parametrize("stage", ["insert_file_row", "store_chunks", "open_attempt", "embed_documents"])
def test_a_failed_request_leaves_neither_rows_nor_bytes(
    committed_cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch, way: str, stage: str
) -> None:
    client = committed_cast.a
    record = create(client, "The first text.")
    if way == "patch" and stage == "insert_file_row":
        stage = "_replace_bytes"
    with monkeypatch.context() as patched:
        patched.setattr(f"documents.services.{stage}", _failing(ValueError("a bug")))
        if way == "create":
            response = post(client, DOCUMENTS, {"content": "The second text."})
        else:
            response = patch(client, f"{DOCUMENTS}/{record['id']}", {"content": "The second text."})
    assert error(response) == (500, "INTERNAL_ERROR")
    assert (Document.objects.count(), File.objects.count()) == (1, 1)
    assert DocumentPage.objects.count() == DocumentChunk.objects.count() == 1
    assert read(client, record["id"])["content"] == "The first text."
    invariants.check()


def test_a_storage_that_is_down_is_a_503(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.services.save_bytes", _failing(ServiceUnavailable("down", retry_after=5)))
    response = post(cast.a, DOCUMENTS, {"content": "text"})
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert not Document.objects.exists()


def test_chunk_values_that_changed_meanwhile_are_not_mixed(
    cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = create(cast.a, TEXT)["id"]

    def meanwhile(found: list[str], **options: bool) -> Any:
        reingest(cast.a, document, **PIECES)
        return embed_documents(found, **options)

    monkeypatch.setattr("documents.services.embed_documents", meanwhile)
    response = patch(cast.a, f"{DOCUMENTS}/{document}", {"content": "new"})
    assert error(response) == (503, "RESOURCE_BUSY")
    run_queued()
    assert read(cast.a, document)["content"] == TEXT
    assert len(texts(document)) == 12
