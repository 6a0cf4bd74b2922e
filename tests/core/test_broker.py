"""A broker that is away fails no request and is told from one that is there."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery import shared_task
from django.db import transaction
from kombu import pools

from soat.celery import app
from soat.core import broker

QUEUE = "default"
ADDRESSES = ("broker_url", "broker_read_url", "broker_write_url")


@shared_task(name="tests.nothing")
def nothing() -> None:
    """Do nothing."""


@pytest.fixture
def empty_queue() -> Iterator[None]:
    """Find nothing in the queue, and leave nothing there."""
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        channel.queue_purge(QUEUE)
        yield
        channel.queue_purge(QUEUE)


Answer = Callable[[bytes], bytes]


@contextmanager
def peer(answer: Answer) -> Iterator[str]:
    """Run something at an address that is no broker; it leaves when it answers with nothing."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                while (received := connection.recv(1024)) and (reply := answer(received)):
                    connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def always(reply: bytes) -> Answer:
    return lambda received: reply


def forbidding(received: bytes) -> bytes:
    """Answer as a server does on which this user may look into no queue."""
    known = {b"CLIENT": b"+OK\r\n", b"HELLO": b"%1\r\n+proto\r\n:3\r\n", b"PING": b"+PONG\r\n"}
    known[b"LLEN"] = b"-NOPERM this user has no permissions\r\n"
    return b"".join(reply * received.count(command) for command, reply in known.items())


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
    # What is pooled belongs to the old address, and a pool that was closed stays closed: forget them all.
    pools.reset()
    celery._pool = celery.amqp._producer_pool = None


def test_the_broker_of_the_tests_answers() -> None:
    assert broker.broker_answers()


@pytest.mark.parametrize(
    "answer",
    [
        always(b"-NOAUTH Authentication required.\r\n"),
        always(b"-LOADING Server is loading the dataset in memory\r\n"),
        always(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        always(b""),
        forbidding,
    ],
    ids=["password", "loading", "http", "silent", "forbidding"],
)
def test_whoever_is_no_broker_does_not_answer(answer: Answer) -> None:
    with peer(answer) as url, broker_at(url):
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
