"""The life of an attempt, one step at a time."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, OperationalError
from django.utils import timezone

from documents import attempts, pipeline
from documents.attempts import AttemptLost, claim, fail, fenced, renew_lease, settle
from documents.models import AttemptState, Document, DocumentChunk, DocumentPage, DocumentStatus, IngestionAttempt
from documents.pipeline import batched
from documents.recovery import clear_retired
from embeddings.services import embed_documents
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.embedders import FakeEmbedder
from tests.documents.steps import create, current, ingest, ingested, read, reingest, row, run_queued, texts, upload


def waiting(cast: Cast, raw: bytes = b"one two three", **fields: Any) -> IngestionAttempt:
    """Return a queued attempt."""
    return current(ingest(cast.a, upload(cast.a, raw), **fields)["id"])


def dump() -> list[Any]:
    """Return all rows of documents."""
    models = (Document, IngestionAttempt, DocumentPage, DocumentChunk)
    return [list(model.objects.order_by("pk").values()) for model in models]


def test_an_attempt_takes_the_documents_values(cast: Cast) -> None:
    attempt = waiting(cast, chunk_strategy="size", chunk_size=9, chunk_overlap=3)
    assert (attempt.number, attempt.automatic, attempt.state) == (1, 0, AttemptState.QUEUED)
    assert (attempt.chunk_strategy, attempt.chunk_size, attempt.chunk_overlap) == ("size", 9, 3)
    assert (attempt.claimed_at, attempt.progress_at, attempt.lease_expires_at) == (None, None, None)


def test_it_is_claimed_once(cast: Cast, settings: LazySettings) -> None:
    settings.INGESTION_LEASE_SECONDS = 30
    attempt = waiting(cast)
    before = timezone.now()
    claimed = claim(attempt.pk, worker="first")
    assert claimed is not None
    assert claim(attempt.pk, worker="second") is None
    assert (claimed.state, claimed.worker) == (AttemptState.PROCESSING, "first")
    assert claimed.claimed_at == claimed.progress_at
    assert claimed.lease_expires_at is not None
    assert timedelta(seconds=29) < claimed.lease_expires_at - before < timedelta(seconds=40)
    assert row(claimed.document.public_id).status == DocumentStatus.PROCESSING


@pytest.mark.parametrize("what", ["superseded", "failed", "ready", "deleted", "never there"])
def test_what_does_not_wait_is_not_claimed(cast: Cast, what: str) -> None:
    attempt = waiting(cast)
    document = attempt.document
    if what == "superseded":
        reingest(cast.a, document.public_id)
    elif what == "failed":
        assert fail(attempt.pk, error="FILE_PARSE_FAILED", detail="x")
    elif what == "ready":
        run_queued()
    else:
        document.delete()
    number = attempt.pk + 1_000 if what == "never there" else attempt.pk
    before = dump()
    assert claim(number, worker="late") is None
    pipeline.ingest(number)
    assert dump() == before


def test_a_task_delivered_twice_changes_nothing(cast: Cast) -> None:
    attempt = waiting(cast)
    pipeline.ingest(attempt.pk)
    before = dump()
    pipeline.ingest(attempt.pk)
    assert dump() == before
    invariants.check()


def test_a_task_delivered_while_the_first_works_changes_nothing(
    cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = waiting(cast)
    seen = []

    def again(found: list[str], **options: bool) -> Any:
        before = dump()
        pipeline.ingest(attempt.pk)
        seen.append(dump() == before)
        return embed_documents(found, **options)

    monkeypatch.setattr(pipeline, "embed_documents", again)
    pipeline.ingest(attempt.pk)
    assert seen == [True]
    assert texts(attempt.document.public_id) == ["one two three"]
    invariants.check()


def test_writes_are_progress(cast: Cast) -> None:
    attempt = claim(waiting(cast).pk, worker="w")
    assert attempt is not None
    long_ago = timezone.now() - timedelta(hours=1)
    IngestionAttempt.objects.filter(pk=attempt.pk).update(progress_at=long_ago, lease_expires_at=long_ago)
    with fenced(attempt):
        pass
    attempt.refresh_from_db()
    assert attempt.progress_at is not None
    assert attempt.lease_expires_at is not None
    assert attempt.progress_at > long_ago
    assert attempt.lease_expires_at > timezone.now()


def test_what_a_lost_attempt_may_not_do(cast: Cast) -> None:
    attempt = claim(waiting(cast).pk, worker="w")
    assert attempt is not None
    reingest(cast.a, attempt.document.public_id)
    before = dump()
    with pytest.raises(AttemptLost), fenced(attempt):
        DocumentPage.objects.all().delete()
    assert renew_lease(attempt.pk) is False
    assert settle(attempt) is False
    assert fail(attempt.pk, error="FILE_PARSE_FAILED", detail="x") is False
    assert dump() == before


def test_an_error_in_a_fenced_block_leaves_nothing(cast: Cast) -> None:
    attempt = claim(waiting(cast).pk, worker="w")
    assert attempt is not None
    before = dump()
    page = DocumentPage(attempt=attempt, project_id=attempt.project_id, index=0, number=1, start=0, text="half")
    with pytest.raises(IntegrityError), fenced(attempt):
        DocumentPage.objects.bulk_create([page, DocumentPage(**{**_fields(page), "number": 2})])
    assert dump() == before


def _fields(page: DocumentPage) -> dict[str, Any]:
    return {field.attname: getattr(page, field.attname) for field in DocumentPage._meta.concrete_fields}


def test_the_detail_of_a_failure_is_storable(cast: Cast) -> None:
    attempt = waiting(cast)
    assert fail(attempt.pk, error="FILE_PARSE_FAILED", detail="a\x00b" + "x" * 5_000)
    attempt.refresh_from_db()
    assert attempt.error_detail.startswith("abx")
    assert len(attempt.error_detail) <= attempts.MAX_DETAIL
    invariants.check()


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("database_falters", [False, True])
def test_the_heartbeat_renews_the_lease(
    committed_cast: Cast,
    free_embedder: FakeEmbedder,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    database_falters: bool,
) -> None:
    settings.INGESTION_LEASE_SECONDS = 1
    attempt = waiting(committed_cast)
    beats = []

    def renew(attempt_id: int) -> bool:
        beats.append(1)
        if database_falters and len(beats) == 1:
            raise OperationalError("the connection is lost")
        return renew_lease(attempt_id)

    def lease() -> datetime | None:
        return IngestionAttempt.objects.values_list("lease_expires_at", flat=True).get(pk=attempt.pk)

    def slow(found: list[str], **options: bool) -> Any:
        before, progress = lease(), IngestionAttempt.objects.get(pk=attempt.pk).progress_at
        _wait_for(lambda: lease() != before)
        assert IngestionAttempt.objects.get(pk=attempt.pk).progress_at == progress
        return embed_documents(found, **options)

    monkeypatch.setattr(pipeline, "renew_lease", renew)
    monkeypatch.setattr(pipeline, "embed_documents", slow)
    pipeline.ingest(attempt.pk)
    assert row(attempt.document.public_id).status == DocumentStatus.READY
    assert len(beats) >= 1 + database_falters
    invariants.check()


def test_the_heartbeat_tells_a_reader_that_all_is_lost(
    committed_cast: Cast, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INGESTION_LEASE_SECONDS = 1
    attempt = waiting(committed_cast)
    stopped = []

    def endless(path: object, content_type: str, *, keep_going: Callable[[], None], on_total: Any) -> Any:
        reingest(committed_cast.a, attempt.document.public_id)
        deadline = time.monotonic() + 20
        try:
            while time.monotonic() < deadline:
                keep_going()
                time.sleep(0.02)
        except AttemptLost:
            stopped.append(1)
            raise
        yield

    monkeypatch.setattr(pipeline, "extract_pages", endless)
    pipeline.ingest(attempt.pk)
    assert stopped == [1]
    attempt.refresh_from_db()
    assert attempt.state == AttemptState.SUPERSEDED


def test_retired_rows_go_in_batches_and_the_settled_stay(
    cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("documents.recovery.ROWS_PER_DELETE", 3)
    pieces = {"chunk_strategy": "size", "chunk_size": 2, "chunk_overlap": 0}
    document = create(cast.a, "abcdefghijklmnopqrst", **pieces)["id"]
    other = create(cast.a, "left alone")["id"]
    assert clear_retired() == 0
    first = current(document)
    reingest(cast.a, document, **pieces)
    run_queued()
    assert DocumentChunk.objects.filter(attempt=first).count() == 10
    assert clear_retired() == 1
    first.refresh_from_db()
    assert first.cleared_at is not None
    assert not DocumentChunk.objects.filter(attempt=first).exists()
    assert not DocumentPage.objects.filter(attempt=first).exists()
    assert len(texts(document)) == 10
    assert texts(other) == ["left alone"]
    assert clear_retired() == 0
    invariants.check()


def test_rows_that_somebody_else_is_deleting_are_not_called_cleared(
    cast: Cast, free_embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = create(cast.a, "text")["id"]
    reingest(cast.a, document)
    run_queued()
    with monkeypatch.context() as patched:
        patched.setattr("documents.recovery._delete_in_batches", lambda table, attempt_id: None)
        assert clear_retired() == 0
    assert not IngestionAttempt.objects.exclude(cleared_at=None).exists()
    assert clear_retired() == 1


def test_what_a_half_done_attempt_wrote_goes_too(cast: Cast, free_embedder: FakeEmbedder) -> None:
    document = ingested(cast.a, b"settled text")["id"]
    reingest(cast.a, document)
    attempt = claim(current(document).pk, worker="w")
    assert attempt is not None
    with fenced(attempt):
        DocumentPage.objects.create(
            attempt=attempt, project_id=attempt.project_id, index=0, number=1, start=0, text="half"
        )
    assert clear_retired() == 0
    reingest(cast.a, document)
    assert clear_retired() == 1
    assert not DocumentPage.objects.filter(attempt=attempt).exists()
    assert read(cast.a, document)["content"] == "settled text"
    invariants.check()


@pytest.mark.parametrize(
    ("items", "options", "lists"),
    [
        ([], {"most": 2}, []),
        ([1, 2, 3], {"most": 2}, [[1, 2], [3]]),
        ([1, 2], {"most": 2}, [[1, 2]]),
        ([5, 1, 1, 9, 1], {"most": 9, "size_of": int, "total": 6}, [[5, 1], [1], [9], [1]]),
        ([1, 2, 3], {"most": 9, "seconds": 0.0}, [[1], [2], [3]]),
        ([1, 2, 3], {"most": 9, "seconds": 60.0}, [[1, 2, 3]]),
    ],
)
def test_batches(items: list[int], options: dict[str, Any], lists: list[list[int]]) -> None:
    assert list(batched(items, **options)) == lists


def test_a_batch_does_not_wait_for_an_item_that_it_need_not() -> None:
    def items() -> Any:
        yield 1
        yield 2
        raise AssertionError("asked for more than a batch")

    assert next(batched(items(), most=2)) == [1, 2]
