"""Many callers at once, each a thread of its own, over real HTTP or straight into the services."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
import numpy as np
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction

from embeddings.services import embed_documents
from memories.models import EntryVector, Memory, MemoryEntry
from soat.engine.text import content_hash

T = TypeVar("T")
PATIENCE = 30.0


def at_once(acts: Sequence[Callable[[], T]]) -> list[T]:
    """Run every act in a thread of its own, all released in one moment; return the results in order."""
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], T]) -> T:
        start.wait(PATIENCE)
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


class _Server(ThreadedWSGIServer):
    """A thread a connection, and a queue that a crowd fits in."""

    request_queue_size = 256


class _Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(token: str) -> Iterator[httpx.Client]:
    """Serve the application over HTTP; yield a client with this token that threads may share."""
    server = _Server(("127.0.0.1", 0), _Quiet)
    server.set_app(get_wsgi_application())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{server.server_port}/api/v1",
            headers={"Authorization": f"Bearer {token}", "Connection": "close"},
            limits=httpx.Limits(max_connections=200),
            timeout=PATIENCE,
            trust_env=False,
        ) as client:
            yield client
    finally:
        server.shutdown()
        thread.join(PATIENCE)
        server.server_close()


@contextmanager
def holding(memory: Memory) -> Iterator[None]:
    """Hold the memory's row in another transaction."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                Memory.objects.select_for_update().get(pk=memory.pk)
                held.set()
                done.wait(PATIENCE)
        finally:
            connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(PATIENCE)
        yield
    finally:
        done.set()
        thread.join(PATIENCE)


def assert_whole() -> None:
    """Check what must hold for every row at any time, whoever wrote and in whatever order."""
    entries = list(MemoryEntry.objects.select_related("memory"))
    assert len(entries) == MemoryEntry.objects.count(), "an entry without its memory"
    vectors: dict[int, list[Any]] = {}
    for vector in EntryVector.objects.order_by("entry_id", "window"):
        vectors.setdefault(vector.entry_id, []).append(vector)
    assert set(vectors) <= {entry.pk for entry in entries}, "a vector without its entry"
    for entry in entries:
        assert bytes(entry.content_hash).hex() == content_hash(entry.content)
        assert 0 < entry.revision <= entry.memory.revision
        assert all(row.memory_id == entry.memory_id for row in vectors.get(entry.pk, []))
    stamps = [(entry.memory_id, entry.revision) for entry in entries]
    assert len(stamps) == len(set(stamps)), "two changes under one revision"
    _assert_vectors_fit(entries, vectors)


def _assert_vectors_fit(entries: Sequence[MemoryEntry], vectors: dict[int, list[Any]]) -> None:
    fresh = embed_documents([entry.content for entry in entries]).texts
    for entry, text in zip(entries, fresh, strict=True):
        stored = [row.embedding for row in vectors.get(entry.pk, [])]
        assert len(stored) == len(text.windows)
        assert all(np.allclose(old, new, atol=1e-6) for old, new in zip(stored, text.windows, strict=True))
