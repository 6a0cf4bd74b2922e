"""Requests and workers at the same moment, with real threads and real transactions."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from rest_framework.test import APIClient

from documents import pipeline
from documents.attempts import claim, open_attempt
from documents.models import OPEN_STATES, AttemptState, ChunkVector, Document, DocumentChunk, DocumentPage
from documents.models import IngestionAttempt as Attempt
from documents.recovery import clear_retired
from embeddings.services import embed_documents
from soat.files.models import File
from tests.conftest import Cast, client_with
from tests.documents import invariants
from tests.documents.embedders import FakeEmbedder
from tests.documents.steps import (
    DOCUMENTS,
    create,
    current,
    ingest,
    ingested,
    patch,
    post,
    read,
    reingest,
    run_queued,
    status,
    texts,
    upload,
)

TEXT = "".join(f"part{number:04d}, " for number in range(400))
PIECES: dict[str, Any] = {"chunk_strategy": "size", "chunk_size": 20, "chunk_overlap": 0}
pytestmark = pytest.mark.usefixtures("free_embedder")


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Run actions in threads that start together; return what they return, or raise what one raised."""
    barrier = threading.Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=30)
            return action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(run, action) for action in actions]]


def own_client(cast: Cast) -> APIClient:
    """Return a client for one thread: clients are not shared."""
    return client_with(cast.key_a)


def work() -> None:
    """Be a worker until nothing waits."""
    while Attempt.objects.filter(state=AttemptState.QUEUED).exists():
        run_queued()


def test_one_of_many_workers_gets_the_attempt(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    document = ingest(committed_cast.a, upload(committed_cast.a, TEXT.encode()), **PIECES)["id"]
    attempt = current(document)
    embedded: list[int] = []

    def count(found: list[str], **options: bool) -> Any:
        embedded.append(len(found))
        return embed_documents(found, **options)

    monkeypatch.setattr(pipeline, "embed_documents", count)
    at_once(*[lambda: pipeline.ingest(attempt.pk)] * 6)
    assert sum(embedded) == len(texts(document)) == len(TEXT) // 20
    assert read(committed_cast.a, document)["content"] == TEXT
    invariants.check()


def test_many_reingests_leave_one_open_attempt_and_one_set_of_chunks(committed_cast: Cast) -> None:
    document = create(committed_cast.a, TEXT, **PIECES)["id"]

    def again() -> int:
        response = post(own_client(committed_cast), f"{DOCUMENTS}/{document}/ingest", PIECES)
        return int(response.status_code)

    assert at_once(*[again] * 8) == [202] * 8
    assert Attempt.objects.filter(state__in=OPEN_STATES).count() == 1
    assert sorted(Attempt.objects.values_list("number", flat=True)) == list(range(1, 10))
    invariants.check()
    at_once(work, work, again, again)
    work()
    assert status(committed_cast.a, document)["status"] == "ready"
    clear_retired()
    assert DocumentChunk.objects.count() == len(texts(document)) == len(TEXT) // 20
    assert DocumentPage.objects.count() == 1
    assert ChunkVector.objects.count() == DocumentChunk.objects.count()
    invariants.check()


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_delete_while_a_worker_writes(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch, delay: float) -> None:
    monkeypatch.setattr(pipeline, "CHUNKS_PER_WRITE", 4)
    document = ingest(committed_cast.a, upload(committed_cast.a, TEXT.encode()), **PIECES)["id"]
    attempt = current(document)

    def delete() -> int:
        time.sleep(delay)
        return int(own_client(committed_cast).delete(f"{DOCUMENTS}/{document}").status_code)

    assert at_once(lambda: pipeline.ingest(attempt.pk), delete) == [None, 204]
    models = (Document, Attempt, DocumentPage, DocumentChunk, ChunkVector)
    assert [model.objects.count() for model in models] == [0, 0, 0, 0, 0]
    invariants.check()


def test_a_delete_waits_for_a_write_and_never_for_a_deadlock(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is within its transaction when the delete begins, and writes more rows afterwards."""
    document = ingest(committed_cast.a, upload(committed_cast.a, TEXT.encode()), **PIECES)["id"]
    attempt = current(document)
    writing, deleting = threading.Event(), threading.Event()
    original = pipeline.store_chunks

    def slow(target: Attempt, chunks: Any, embedded: Any) -> None:
        if not writing.is_set():
            writing.set()
            assert deleting.wait(30)
            time.sleep(0.3)
        original(target, chunks, embedded)

    def delete() -> int:
        assert writing.wait(30)
        deleting.set()
        return int(own_client(committed_cast).delete(f"{DOCUMENTS}/{document}").status_code)

    monkeypatch.setattr(pipeline, "store_chunks", slow)
    assert at_once(lambda: pipeline.ingest(attempt.pk), delete) == [None, 204]
    assert not Attempt.objects.exists()
    assert not DocumentChunk.objects.exists()
    invariants.check()


def test_a_claim_waits_for_the_document_before_it_holds_the_attempt(committed_cast: Cast) -> None:
    """A re-ingest locks the document, then its open attempt. A claim in the other order would be a deadlock."""
    document = ingest(committed_cast.a, upload(committed_cast.a, b"text"))["id"]
    first = current(document)
    locked = threading.Event()

    def ingest_again() -> None:
        with transaction.atomic():
            held = Document.objects.select_for_update(no_key=True).get(public_id=document)
            locked.set()
            deadline = time.monotonic() + 30
            while not _somebody_waits():
                assert time.monotonic() < deadline, "nobody waits for the document"
                time.sleep(0.02)
            open_attempt(held)

    def claim_it() -> Attempt | None:
        assert locked.wait(30)
        return claim(first.pk, worker="w")

    assert at_once(ingest_again, claim_it) == [None, None]
    assert current(document).number == 2
    assert current(document).state == AttemptState.QUEUED
    invariants.check()


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])


def test_new_content_while_a_worker_writes(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "CHUNKS_PER_WRITE", 4)
    document = create(committed_cast.a, TEXT, **PIECES)["id"]
    for round_number in range(4):
        reingest(committed_cast.a, document, **PIECES)
        content = f"round {round_number}"

        def change(content: str = content, delay: float = round_number * 0.05) -> int:
            time.sleep(delay)
            return int(patch(own_client(committed_cast), f"{DOCUMENTS}/{document}", {"content": content}).status_code)

        assert at_once(work, change) == [None, 200]
        assert read(committed_cast.a, document)["content"] == content
        assert read(committed_cast.a, document)["status"] == "ready"
        invariants.check()
    clear_retired()
    assert DocumentChunk.objects.count() == 1


def test_many_changes_at_once_are_whole(committed_cast: Cast) -> None:
    document = create(committed_cast.a, "start")["id"]

    def change(number: int) -> Callable[[], int]:
        body = {"content": f"content {number} " * 50, "title": f"title {number}"}
        return lambda: int(patch(own_client(committed_cast), f"{DOCUMENTS}/{document}", body).status_code)

    assert at_once(*[change(number) for number in range(6)]) == [200] * 6
    shown = read(committed_cast.a, document)
    number = shown["title"].split()[1]
    assert shown["content"] == f"content {number} " * 50
    invariants.check()


def test_merging_tags_loses_none(committed_cast: Cast) -> None:
    document = create(committed_cast.a, "text")["id"]

    def tag(number: int) -> Callable[[], int]:
        path = f"{DOCUMENTS}/{document}/tags"
        return lambda: int(patch(own_client(committed_cast), path, {f"k{number}": "v"}).status_code)

    assert at_once(*[tag(number) for number in range(8)]) == [200] * 8
    assert set(read(committed_cast.a, document)["tags"]) == {f"k{number}" for number in range(8)}


def test_a_file_is_ingested_by_one_of_many(committed_cast: Cast) -> None:
    file = upload(committed_cast.a, b"text", "n.txt")

    def ask() -> tuple[int, str]:
        response = post(own_client(committed_cast), f"{DOCUMENTS}/ingest", {"file_id": file["id"]})
        return response.status_code, response.json().get("error", {}).get("code", "")

    answers = at_once(*[ask] * 6)
    assert sorted(answers) == [(202, "")] + [(409, "FILE_ALREADY_INGESTED")] * 5
    assert Document.objects.count() == 1
    invariants.check()


def test_a_path_is_had_by_one_of_many(committed_cast: Cast) -> None:
    def make() -> tuple[int, str]:
        response = post(own_client(committed_cast), DOCUMENTS, {"content": "text", "path": "/p.txt"})
        return response.status_code, response.json().get("error", {}).get("code", "")

    answers = at_once(*[make] * 6)
    assert sorted(answers) == [(201, "")] + [(409, "NAME_CONFLICT")] * 5
    assert Document.objects.count() == File.objects.count() == 1
    invariants.check()  # the others' bytes are gone


def test_a_file_that_goes_while_it_is_ingested(committed_cast: Cast) -> None:
    for _ in range(10):
        file = upload(committed_cast.a, b"text", "n.txt")

        def ask(file_id: str = file["id"]) -> tuple[int, str]:
            response = post(own_client(committed_cast), f"{DOCUMENTS}/ingest", {"file_id": file_id})
            return response.status_code, response.json().get("error", {}).get("code", "")

        def delete(file_id: str = file["id"]) -> tuple[int, str]:
            response = own_client(committed_cast).delete(f"/api/v1/files/{file_id}")
            return response.status_code, "" if response.status_code == 204 else response.json()["error"]["code"]

        answers = tuple(at_once(ask, delete))
        assert answers in {
            ((202, ""), (409, "FILE_HAS_DEPENDENTS")),
            ((400, "FILE_NOT_FOUND"), (204, "")),
        }
        Document.objects.all().delete()
        for left in File.objects.all():
            own_client(committed_cast).delete(f"/api/v1/files/{left.public_id}")
    invariants.check()


def test_two_that_clear_at_once(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.recovery.ROWS_PER_DELETE", 7)
    documents = [create(committed_cast.a, TEXT, **PIECES)["id"] for _ in range(3)]
    for document in documents:
        reingest(committed_cast.a, document, **PIECES)
    run_queued()
    retired = Attempt.objects.filter(state=AttemptState.SUPERSEDED)
    assert DocumentChunk.objects.filter(attempt__in=retired).count() == 3 * len(TEXT) // 20
    assert sum(at_once(*[clear_retired] * 4)) == 3
    assert not DocumentChunk.objects.filter(attempt__in=retired).exists()
    assert not retired.filter(cleared_at=None).exists()
    assert all(len(texts(document)) == len(TEXT) // 20 for document in documents)
    invariants.check()


def test_a_reader_finds_something_at_every_moment(committed_cast: Cast) -> None:
    """Somebody searches without pause while the document is read again and again."""
    document = ingested(committed_cast.a, TEXT.encode(), **PIECES)["id"]
    ended = threading.Event()

    def look() -> int:
        client, looks = own_client(committed_cast), 0
        while not ended.is_set():
            body = {"document_ids": [document], "limit": 1_000}
            found = post(client, "/api/v1/knowledge/search", body).json()["results"]
            assert "".join(result["content"] for result in found) == TEXT
            looks += 1
        return looks

    def ingest_again() -> None:
        try:
            for _ in range(4):
                reingest(own_client(committed_cast), document, **PIECES)
                work()
                clear_retired()
        finally:
            ended.set()

    looks, _ = at_once(look, ingest_again)
    assert looks > 3
    invariants.check()


def test_the_fake_is_in_use(free_embedder: FakeEmbedder, committed_cast: Cast) -> None:
    create(committed_cast.a, "counted")
    assert free_embedder.calls == [["counted"]]
