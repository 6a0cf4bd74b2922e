"""A broker that is away fails no request and is told from one that is there."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery import shared_task
from django.db import transaction

from soat.celery import app
from soat.core import broker

QUEUE = "tests-of-publishing"
ADDRESSES = ("broker_url", "broker_read_url", "broker_write_url")


@shared_task(name="tests.nothing", queue=QUEUE)
def nothing() -> None:
    """Do nothing."""


@pytest.fixture
def empty_queue() -> Iterator[None]:
    """Leave nothing in the queue of these tests."""
    yield
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        channel.queue_purge(QUEUE)


@contextmanager
def peer(reply: bytes | None) -> Iterator[str]:
    """Run something at an address that is no broker; ``reply`` None closes at once."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                if reply is not None:
                    connection.recv(1024)
                    connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def dead_address() -> str:
    """Return the address of a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@contextmanager
def broker_at(url: str) -> Iterator[None]:
    """Let Celery use another broker."""
    celery: Any = app
    saved = {name: celery.conf[name] for name in ADDRESSES}
    _use(celery, dict.fromkeys(ADDRESSES, url))
    try:
        yield
    finally:
        _use(celery, saved)


def _use(celery: Any, addresses: dict[str, str]) -> None:
    celery.conf.update(addresses)
    celery.pool.force_close_all()
    celery.amqp._producer_pool = None


def test_the_broker_of_the_tests_answers() -> None:
    assert broker.broker_answers()


@pytest.mark.parametrize(
    "reply",
    [
        b"-NOAUTH Authentication required.\r\n",
        b"-LOADING Server is loading the dataset in memory\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        None,
    ],
)
def test_whoever_is_no_broker_does_not_answer(reply: bytes | None) -> None:
    with peer(reply) as url, broker_at(url):
        assert not broker.broker_answers()


def test_nobody_does_not_answer() -> None:
    with broker_at(dead_address()):
        assert not broker.broker_answers()


@pytest.mark.usefixtures("committed_cast", "empty_queue")
def test_a_task_is_published_when_its_transaction_is_committed() -> None:
    with transaction.atomic():
        broker.publish_on_commit(nothing)
        assert broker.queue_length(QUEUE) == 0
    assert broker.queue_length(QUEUE) == 1
    with transaction.atomic():
        broker.publish_on_commit(nothing)
        transaction.set_rollback(True)
    assert broker.queue_length(QUEUE) == 1


@pytest.mark.usefixtures("committed_cast", "empty_queue")
def test_a_broker_that_is_away_fails_nobody(caplog: pytest.LogCaptureFixture) -> None:
    with broker_at(dead_address()), transaction.atomic():
        broker.publish_on_commit(nothing)
    assert "tests.nothing" in caplog.text
    assert broker.queue_length(QUEUE) == 0
