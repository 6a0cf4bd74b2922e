"""Workers that die, attempts that stall, and messages that are lost."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db.models import F
from django.utils import timezone

from documents import recovery
from documents.attempts import claim, renew_lease
from documents.models import AttemptState, IngestionAttempt
from documents.recovery import MAX_AUTOMATIC_ATTEMPTS, recover, sweep
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.steps import (
    DOCUMENTS,
    current,
    ingest,
    ingested,
    read,
    reingest,
    run_queued,
    search,
    status,
    texts,
    upload,
)

Look = Callable[[Cast, str], list[int]]


def by_sweep(cast: Cast, document: str) -> list[int]:
    return sweep()


def by_reading(cast: Cast, document: str) -> list[int]:
    return _published(lambda: read(cast.a, document))


def by_status(cast: Cast, document: str) -> list[int]:
    return _published(lambda: status(cast.a, document))


def _published(look: Callable[[], Any]) -> list[int]:
    """Return the attempts whose message a request publishes, which happens in the end of its transaction."""
    published: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("documents.waiting.publish_on_commit", lambda task, attempt_id: published.append(attempt_id))
        look()
    return published


def worked_on(cast: Cast, *, automatic: int = 0, ready_before: bool = False) -> str:
    """Return a document that a worker has claimed."""
    if ready_before:
        document = str(ingested(cast.a, b"The old text.")["id"])
        reingest(cast.a, document)
    else:
        document = str(ingest(cast.a, upload(cast.a, b"The text."))["id"])
    IngestionAttempt.objects.filter(pk=current(document).pk).update(automatic=automatic)
    assert claim(current(document).pk, worker="w") is not None
    return document


def passed(document: str, **moments: timedelta) -> None:
    """Let time pass: set moments of the current attempt that far back."""
    changes = {name: timezone.now() - ago for name, ago in moments.items()}
    IngestionAttempt.objects.filter(pk=current(document).pk).update(**changes)


AGO = timedelta(seconds=1)


@pytest.mark.parametrize("look", [by_sweep, by_reading, by_status])
def test_a_dead_workers_attempt_has_a_successor(cast: Cast, look: Look) -> None:
    document = worked_on(cast)
    first = current(document)
    passed(document, lease_expires_at=AGO)
    published = look(cast, document)
    successor = current(document)
    assert published == [successor.pk]
    assert (successor.number, successor.automatic, successor.state) == (2, 1, AttemptState.QUEUED)
    first.refresh_from_db()
    assert first.state == AttemptState.SUPERSEDED
    assert status(cast.a, document)["status"] == "pending"
    assert look(cast, document) == []
    run_queued()
    assert texts(document) == ["The text."]
    invariants.check()


@pytest.mark.parametrize("look", [by_sweep, by_reading, by_status])
@pytest.mark.parametrize("ready_before", [False, True])
def test_it_is_given_up_after_three_of_them(cast: Cast, look: Look, ready_before: bool) -> None:
    document = worked_on(cast, ready_before=ready_before)
    for automatic in range(1, MAX_AUTOMATIC_ATTEMPTS + 1):
        passed(document, lease_expires_at=AGO)
        assert look(cast, document) == [current(document).pk]
        assert current(document).automatic == automatic
        assert claim(current(document).pk, worker="w") is not None
    passed(document, lease_expires_at=AGO)
    assert look(cast, document) == []
    shown = status(cast.a, document)
    assert (shown["status"], shown["error"], shown["progress"]) == ("failed", "INGESTION_TIMEOUT", None)
    assert "died" in current(document).error_detail
    assert read(cast.a, document)["content"] == ("The old text." if ready_before else None)
    assert len(search(cast.a, "the old text")) == int(ready_before)
    invariants.check()
    # Somebody asks for it again, and the count starts anew.
    reingest(cast.a, document)
    assert current(document).automatic == 0
    run_queued()
    assert status(cast.a, document)["status"] == "ready"


@pytest.mark.parametrize("look", [by_sweep, by_reading, by_status])
@pytest.mark.parametrize("automatic", [0, 2])
def test_no_progress_is_the_end_although_the_worker_lives(
    cast: Cast, settings: LazySettings, look: Look, automatic: int
) -> None:
    settings.INGESTION_STALL_TIMEOUT_MS = 300_000
    document = worked_on(cast, automatic=automatic)
    passed(document, progress_at=timedelta(seconds=299))
    assert look(cast, document) == []
    assert status(cast.a, document)["status"] == "processing"
    passed(document, progress_at=timedelta(seconds=301))
    assert look(cast, document) == []
    assert status(cast.a, document)["error"] == "INGESTION_TIMEOUT"
    assert "no progress" in current(document).error_detail
    invariants.check()


@pytest.mark.parametrize("look", [by_reading, by_status])
def test_long_waits_are_no_stall(cast: Cast, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "queue_length", lambda queue: 1)
    document = ingest(cast.a, upload(cast.a, b"The text."))["id"]
    passed(document, created_at=timedelta(days=2), published_at=timedelta(days=2))
    before = IngestionAttempt.objects.values().get()
    assert look(cast, document) == []
    assert sweep() == []
    assert IngestionAttempt.objects.values().get() == before
    assert status(cast.a, document)["status"] == "pending"
    run_queued()
    assert status(cast.a, document)["status"] == "ready"


def test_the_time_in_the_queue_does_not_count_after_the_claim(cast: Cast) -> None:
    document = ingest(cast.a, upload(cast.a, b"The text."))["id"]
    passed(document, created_at=timedelta(days=2), published_at=timedelta(days=2))
    assert claim(current(document).pk, worker="w") is not None
    assert sweep() == []
    assert status(cast.a, document)["status"] == "processing"


@pytest.mark.parametrize("look", [by_sweep, by_reading, by_status])
def test_healthy_and_finished_attempts_are_left_alone(cast: Cast, look: Look) -> None:
    document = worked_on(cast)
    before = list(IngestionAttempt.objects.values())
    assert look(cast, document) == []
    assert list(IngestionAttempt.objects.values()) == before
    ready = ingested(cast.a, b"ready", "r.txt")["id"]
    long_ago = timezone.now() - timedelta(days=1)
    IngestionAttempt.objects.filter(pk=current(ready).pk).update(progress_at=long_ago, lease_expires_at=long_ago)
    assert look(cast, ready) == []
    assert status(cast.a, ready)["status"] == "ready"


def test_a_worker_that_came_back_in_time_keeps_its_attempt(cast: Cast) -> None:
    document = worked_on(cast)
    passed(document, lease_expires_at=AGO)
    seen = current(document)  # as the sweep has read it
    assert renew_lease(seen.pk)
    assert recover(seen) is None
    assert current(document).pk == seen.pk
    assert current(document).state == AttemptState.PROCESSING


def test_two_sweeps_make_one_successor(cast: Cast) -> None:
    document = worked_on(cast)
    passed(document, lease_expires_at=AGO)
    seen = current(document)
    assert recover(seen) is not None
    assert recover(seen) is None
    assert IngestionAttempt.objects.count() == 2
    invariants.check()


def test_a_foreign_reader_sets_nothing_going(cast: Cast) -> None:
    document = worked_on(cast)
    passed(document, lease_expires_at=AGO)
    assert cast.b.get(f"{DOCUMENTS}/{document}").status_code == 404
    assert current(document).state == AttemptState.PROCESSING


@pytest.mark.parametrize(
    ("waiting", "messages", "published"),
    [(1, 1, 0), (1, 0, 1), (3, 3, 0), (3, 2, 3), (3, 9, 0), (0, 0, 0)],
)
def test_a_message_is_lost_when_fewer_are_there_than_attempts_wait(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, waiting: int, messages: int, published: int
) -> None:
    asked: list[str] = []

    def length(queue: str) -> int:
        asked.append(queue)
        return messages

    monkeypatch.setattr(recovery, "queue_length", length)
    for number in range(waiting):
        ingest(cast.a, upload(cast.a, b"text", f"{number}.txt"))
    assert sweep() == []
    assert asked == [], "messages that were just sent are not looked for"
    IngestionAttempt.objects.update(published_at=F("published_at") - timedelta(seconds=31))
    assert len(sweep()) == published
    assert asked == (["ingestion"] if waiting else [])
    assert sweep() == [], "they are given time to arrive"
    invariants.check()
