"""Waits for locks are bounded, and become an answer that says so."""

import threading
import time
from typing import Any

import pytest
from django.db import DataError, IntegrityError, OperationalError, connection, connections, transaction
from django.db.models import Func, TextField, Value

from soat.core.db import short_transaction, violated_constraint
from soat.core.errors import ServiceUnavailable
from soat.tenancy.models import Project, User
from tests.conftest import Cast


def hold(project: Project, held: threading.Event, release: threading.Event) -> None:
    """Keep a project locked until ``release``."""
    try:
        with transaction.atomic():
            Project.objects.select_for_update().get(pk=project.pk)
            held.set()
            release.wait(10)
    finally:
        connections.close_all()


def test_a_lock_that_is_not_had_in_time_is_busy(committed_cast: Cast, settings: Any) -> None:
    settings.LOCK_TIMEOUT_MS = 100
    held, release = threading.Event(), threading.Event()
    holder = threading.Thread(target=hold, args=(committed_cast.project_a, held, release))
    holder.start()
    try:
        assert held.wait(10)
        begun = time.monotonic()
        with pytest.raises(ServiceUnavailable) as busy, short_transaction():
            Project.objects.select_for_update().get(pk=committed_cast.project_a.pk)
        assert time.monotonic() - begun < 2
    finally:
        release.set()
        holder.join()
    assert (busy.value.status, busy.value.code, busy.value.retry_after) == (503, "RESOURCE_BUSY", 1)


def test_the_limit_ends_with_its_transaction(committed_cast: Cast) -> None:
    with short_transaction(), connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("5s",)
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_deadlock_is_busy_for_one_and_nothing_for_the_other(committed_cast: Cast) -> None:
    barrier = threading.Barrier(2, timeout=10)
    outcomes: list[str] = []

    def take(first: Project, second: Project) -> None:
        try:
            with short_transaction():
                Project.objects.select_for_update().get(pk=first.pk)
                barrier.wait()
                Project.objects.select_for_update().get(pk=second.pk)
            outcomes.append("done")
        except ServiceUnavailable as error:
            outcomes.append(error.code)
        finally:
            connections.close_all()

    pair = (committed_cast.project_a, committed_cast.project_b)
    threads = [threading.Thread(target=take, args=order) for order in (pair, pair[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["RESOURCE_BUSY", "done"]


def test_other_errors_of_the_database_stay_what_they_are(cast: Cast) -> None:
    with pytest.raises(DataError), short_transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 20")
    with pytest.raises(OperationalError), short_transaction():
        Project.objects.annotate(slept=Func(Value(5), function="pg_sleep", output_field=TextField())).first()


def test_the_violated_constraint_is_named(cast: Cast) -> None:
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        User.objects.filter(pk=cast.outsider_user.pk).update(is_superuser=True)
    assert violated_constraint(refused.value) == "user_admin_role_is_superuser"
    assert violated_constraint(IntegrityError("of no database")) == ""
