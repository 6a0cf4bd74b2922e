"""Messages between requests, sweeps and workers, over the real broker."""

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from documents import tasks
from documents.models import AttemptState, IngestionAttempt
from soat.celery import app
from soat.core.broker import queue_length
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.steps import (
    DOCUMENTS,
    create,
    current,
    ingest,
    patch,
    post,
    read,
    reingest,
    run_queued,
    status,
    upload,
)

QUEUES = ("ingestion", "default")


@pytest.fixture(autouse=True)
def _empty_queues() -> Iterator[None]:
    _purge()
    yield
    _purge()


def _purge() -> None:
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        for queue in QUEUES:
            channel.client.delete(queue)


def messages(queue: str = "ingestion") -> list[tuple[str, list[Any]]]:
    """Return task and arguments of the messages that wait, oldest first."""
    with app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        raw = channel.client.lrange(queue, 0, -1)[::-1]
    parsed = [json.loads(message) for message in raw]
    return [(message["headers"]["task"], json.loads(b64decode(message["body"]))[0]) for message in parsed]


def test_an_accepted_request_has_sent_its_message(committed_cast: Cast) -> None:
    document = ingest(committed_cast.a, upload(committed_cast.a, b"text"))["id"]
    assert messages() == [("documents.tasks.ingest", [current(document).pk])]
    reingest(committed_cast.a, document)
    assert messages()[1] == ("documents.tasks.ingest", [current(document).pk])
    assert queue_length("ingestion") == 2


def test_a_message_waits_for_the_commit(committed_cast: Cast) -> None:
    file = upload(committed_cast.a, b"text")
    with transaction.atomic():
        ingest(committed_cast.a, file)
        assert messages() == []
        transaction.set_rollback(True)
    assert messages() == []
    assert not IngestionAttempt.objects.exists()


def test_a_refused_request_sends_none(committed_cast: Cast) -> None:
    file = upload(committed_cast.a, b"text")
    ingest(committed_cast.a, file)
    _purge()
    assert post(committed_cast.a, f"{DOCUMENTS}/ingest", {"file_id": file["id"]}).status_code == 409
    assert post(committed_cast.a, f"{DOCUMENTS}/doc_doesnotexist0000/ingest").status_code == 404
    assert messages() == []


def test_plain_text_needs_no_worker(committed_cast: Cast) -> None:
    record = create(committed_cast.a, "text")
    assert messages() == messages("default") == []
    patch(committed_cast.a, f"{DOCUMENTS}/{record['id']}", {"content": "new"})
    assert messages() == []
    assert messages("default") == [("documents.tasks.clear", [])]


def test_the_task_ingests_and_asks_for_clearing(committed_cast: Cast) -> None:
    document = ingest(committed_cast.a, upload(committed_cast.a, b"text"))["id"]
    tasks.ingest(current(document).pk)
    assert status(committed_cast.a, document)["status"] == "ready"
    assert messages("default") == [("documents.tasks.clear", [])]
    tasks.clear()
    invariants.check()


def test_a_lost_message_is_sent_again_once(committed_cast: Cast) -> None:
    documents = [ingest(committed_cast.a, upload(committed_cast.a, b"text", f"{n}.txt"))["id"] for n in range(3)]
    sent = [("documents.tasks.ingest", [current(document).pk]) for document in documents]
    IngestionAttempt.objects.update(published_at=F("published_at") - timedelta(minutes=5))
    tasks.sweep()
    assert messages() == sent, "a long queue is no fault"
    _purge()
    tasks.sweep()
    assert messages() == sent
    tasks.sweep()
    assert messages() == sent, "they are given time to be taken"
    run_queued()
    assert [status(committed_cast.a, document)["status"] for document in documents] == ["ready"] * 3
    for _, (attempt_id,) in sent:
        tasks.ingest(attempt_id)
    invariants.check()


def test_a_successors_message_is_sent_by_the_sweep_and_on_reading(committed_cast: Cast) -> None:
    client = committed_cast.a
    for name, look in (("sweep", lambda document: tasks.sweep()), ("read", lambda document: read(client, document))):
        document = ingest(client, upload(client, b"text", name))["id"]
        first = current(document).pk
        IngestionAttempt.objects.filter(pk=first).update(
            state=AttemptState.PROCESSING, claimed_at=F("created_at"), progress_at=F("created_at")
        )
        IngestionAttempt.objects.filter(pk=first).update(lease_expires_at=F("created_at") - timedelta(seconds=1))
        _purge()
        look(document)
        assert current(document).pk != first
        assert messages() == [("documents.tasks.ingest", [current(document).pk])]


@pytest.fixture
def broker_is_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Point Celery at a port where nobody listens, until the returned function is called."""
    forget_connections: Callable[[], None] = app._after_fork  # type: ignore[attr-defined]
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
    forget_connections()

    def back() -> None:
        monkeypatch.undo()
        forget_connections()

    yield back
    back()


def test_without_a_broker_requests_are_taken_on(
    committed_cast: Cast, broker_is_back: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    settled = create(committed_cast.a, "one two")
    file = upload(committed_cast.a, b"text")
    started = time.monotonic()
    document = ingest(committed_cast.a, file)["id"]
    reingest(committed_cast.a, settled["id"])
    assert patch(committed_cast.a, f"{DOCUMENTS}/{settled['id']}", {"content": "three"}).status_code == 200
    assert time.monotonic() - started < 15
    assert caplog.text.count("The broker took no message for documents.tasks.") == 3
    assert status(committed_cast.a, document)["status"] == "pending"
    assert current(document).state == AttemptState.QUEUED
    broker_is_back()
    assert messages() == []
    tasks.sweep()
    assert messages() == [], "not before it could be known that the message is lost"
    IngestionAttempt.objects.update(published_at=F("published_at") - timedelta(minutes=5))
    tasks.sweep()
    assert messages() == [("documents.tasks.ingest", [current(document).pk])]
    run_queued()
    assert status(committed_cast.a, document)["status"] == "ready"


def test_a_worker_that_loses_the_broker_has_settled(committed_cast: Cast, broker_is_back: Callable[[], None]) -> None:
    document = ingest(committed_cast.a, upload(committed_cast.a, b"text"))["id"]
    tasks.ingest(current(document).pk)
    assert status(committed_cast.a, document)["status"] == "ready"
    invariants.check()
