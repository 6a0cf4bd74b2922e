"""Numbers: who may see them, that they add up, and that nobody can make them many."""

import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from django.db import DatabaseError
from prometheus_client.mmap_dict import MmapedDict
from pytest_django.fixtures import Settings

from documents.metrics import Outcome
from embeddings.metrics import CountedEmbedder
from embeddings.port import EmbeddingRejected, EmbeddingUnavailable, Reason, TextKind
from soat.operations import process_metrics, queues, state, worker_metrics
from soat.standalone.readiness import free_port
from tests.conftest import Cast, client_with
from tests.embeddings.scripted import ScriptedEmbedder

TOKEN = "a-token-for-the-metrics"


@pytest.fixture(autouse=True)
def _anew() -> Generator[None]:
    state.forget()
    yield
    state.forget()


def samples(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_they_are_off_unless_somebody_may_see_them(cast: Cast) -> None:
    for client in (cast.anonymous, cast.a, cast.outsider, client_with("nonsense"), client_with(TOKEN)):
        answer = client.get("/metrics")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "RESOURCE_NOT_FOUND")
    answer = cast.admin.get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")


def test_with_a_token(cast: Cast, settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN
    for client in (cast.anonymous, cast.a, cast.outsider, client_with("nonsense"), client_with(f"{TOKEN}x")):
        answer = client.get("/metrics")
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")
        assert answer["WWW-Authenticate"] == "Bearer"
    for client in (client_with(TOKEN), cast.admin):
        assert client.get("/metrics").status_code == 200
        assert client.post("/metrics").status_code == 405


def test_every_name_is_documented(cast: Cast) -> None:
    names = set(re.findall(r"^# TYPE (soat_\w+)", cast.admin.get("/metrics").content.decode(), re.MULTILINE))
    names = {name for name in names if not name.endswith("_created")}
    documented = set(re.findall(r"`(soat_\w+)`", (Path(__file__).parents[2] / "docs" / "operators.md").read_text()))
    assert names == documented


def test_what_clients_type_makes_no_new_series(cast: Cast) -> None:
    def series() -> set[str]:
        return {name for name in samples(cast.admin.get("/metrics").content.decode()) if "soat_http" in name}

    def ask(word: str) -> None:
        for path in (f"/{word}", f"/api/v1/{word}", f"/api/v1/documents/{word}", f"/static/{word}", f"/admin/{word}"):
            cast.a.get(path)
        cast.a.generic(word.upper(), "/api/v1/documents")
        cast.a.get("/admin/", HTTP_HOST=f"{word}.example")

    ask("one")
    before = series()
    for word in ("two", "three", "four"):
        ask(word)
    assert series() == before


def test_a_database_that_does_not_answer_leaves_the_rest(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise DatabaseError("no")

    monkeypatch.setattr(state, "_from_database", broken)
    found = samples(cast.admin.get("/metrics").content.decode())
    assert found['soat_state_readable{source="database"}'] == 0
    assert found['soat_state_readable{source="broker"}'] == 1
    assert 'soat_documents{status="ready"}' not in found
    assert 'soat_queue_messages{queue="ingestion"}' in found


def test_the_age_of_what_waits(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    from soat.celery import app  # noqa: PLC0415

    monkeypatch.setattr("soat.operations.queues.queue_names", lambda: ["a-queue-that-nobody-takes-from"])
    with app.connection_for_write() as connection:
        connection.default_channel.client.delete("a-queue-that-nobody-takes-from")  # type: ignore[attr-defined]
    app.send_task("documents.tasks.clear", queue="a-queue-that-nobody-takes-from")
    (queue,) = [queue for queue in queues.read_queues() if queue.name == "a-queue-that-nobody-takes-from"]
    assert queue.length == 1
    assert queue.oldest_seconds is not None
    assert 0 <= queue.oldest_seconds < 10
    found = samples(cast.admin.get("/metrics").content.decode())
    assert found['soat_queue_messages{queue="a-queue-that-nobody-takes-from"}'] == 1


def test_an_embedder_is_counted() -> None:
    def count(name: str) -> float:
        return samples(process_metrics.exposition().decode()).get(name, 0.0)

    names = [
        'soat_embedder_calls_total{kind="query",result="ok"}',
        'soat_embedder_calls_total{kind="query",result="unavailable"}',
        'soat_embedder_texts_total{kind="query"}',
        'soat_embedder_rejected_texts_total{reason="no_content"}',
        'soat_embedder_seconds_count{kind="query"}',
    ]
    before = [count(name) for name in names]
    CountedEmbedder(ScriptedEmbedder()).embed(["one", "two"], kind=TextKind.QUERY)
    blank = ScriptedEmbedder(reply=lambda text: EmbeddingRejected(Reason.NO_CONTENT, "blank"))
    CountedEmbedder(blank).embed(["three"], kind=TextKind.QUERY)
    silent = ScriptedEmbedder(batch_fault=lambda texts: EmbeddingUnavailable("no answer"))
    with pytest.raises(EmbeddingUnavailable):
        CountedEmbedder(silent).embed(["four"], kind=TextKind.QUERY)
    assert [count(name) - old for name, old in zip(names, before, strict=True)] == [2, 1, 4, 1, 3]


def test_outcomes_are_a_closed_set() -> None:
    assert {outcome.value for outcome in Outcome} == {
        *("ready", "failed", "lost", "broke_off", "queued_again", "given_up")
    }


def write(file: Path, **values: float) -> None:
    counts = MmapedDict(str(file))  # type: ignore[no-untyped-call]
    for name, value in values.items():
        counts.write_value(name, value, 0.0)  # type: ignore[no-untyped-call]
    counts.close()  # type: ignore[no-untyped-call]


def read(file: Path) -> dict[str, float]:
    entries = MmapedDict.read_all_values_from_file(str(file))  # type: ignore[no-untyped-call]
    return {key: value for key, value, _, _ in entries}


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def test_what_ended_processes_counted_is_kept_while_any_lives(settings: Settings, tmp_path: Path) -> None:
    settings.METRICS_DIR = tmp_path
    one, two = ended_process(), ended_process()
    write(tmp_path / f"counter_{os.getpid()}.db", a=1)
    write(tmp_path / f"counter_{one}.db", a=10, b=5)
    write(tmp_path / f"counter_{two}.db", a=100)
    write(tmp_path / f"histogram_{two}.db", h=3)
    process_metrics.fold_ended_processes()
    assert {file.name for file in tmp_path.glob("*.db")} == {
        *(f"counter_{os.getpid()}.db", "counter_0.db", "histogram_0.db")
    }
    assert read(tmp_path / "counter_0.db") == {"a": 110, "b": 5}
    three = ended_process()
    write(tmp_path / f"counter_{three}.db", b=2)
    process_metrics.fold_ended_processes()
    process_metrics.fold_ended_processes()
    assert read(tmp_path / "counter_0.db") == {"a": 110, "b": 7}
    assert read(tmp_path / "histogram_0.db") == {"h": 3}


def test_a_new_start_counts_from_zero(settings: Settings, tmp_path: Path) -> None:
    settings.METRICS_DIR = tmp_path
    write(tmp_path / f"counter_{ended_process()}.db", a=1)
    write(tmp_path / "counter_0.db", a=5)
    process_metrics.fold_ended_processes()
    assert list(tmp_path.glob("*.db")) == []


def test_the_port_of_a_worker(settings: Settings) -> None:
    settings.METRICS_TOKEN, settings.METRICS_WORKER_PORT = TOKEN, free_port("127.0.0.1", 0)
    server = worker_metrics.serve()
    assert server is not None
    try:
        assert worker_metrics.serve() is None, "a port that is taken stops no worker"
        url = f"http://127.0.0.1:{settings.METRICS_WORKER_PORT}/"
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, headers={"Authorization": "Bearer x"}).status_code == 401
        answer = httpx.get(url, headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200
        assert "soat_" in answer.text
    finally:
        server.shutdown()
        server.server_close()
