"""SIGTERM: requests and tasks under way are finished or given back, and what is killed is taken up by others."""

import os
import signal
import socket
import threading
from collections.abc import Generator

import httpx
import pytest

from soat.standalone import processes
from tests.embeddings.model_server import Fault, running
from tests.embeddings.ollama_server import OllamaServer
from tests.operations.deployment import Client, Deployment, wait_until

SLOW = 1.0


@pytest.fixture(scope="module")
def model() -> Generator[OllamaServer]:
    """An embedding model that takes its time with texts that say so."""
    with running(OllamaServer()) as server:
        server.marked["slow"] = Fault(delay=SLOW)
        yield server


@pytest.fixture(scope="module")
def site(migrated: Deployment, model: OllamaServer) -> Generator[Deployment]:
    """A web server; workers are started by the tests."""
    site = Deployment(
        migrated.servers,
        "slow",
        EMBEDDING_PROVIDER="ollama",
        EMBEDDING_MODEL=model.model,
        EMBEDDING_DIMENSIONS=str(model.dimensions),
        OLLAMA_BASE_URL=model.url,
        INGESTION_LEASE_SECONDS="1",
        WORKER_CONCURRENCY="1",
        WEB_WORKERS="1",
    )
    try:
        site.execute("DELETE FROM embeddings_embeddingspace")
        site.start("web")
        site.wait_answering()
        yield site
    finally:
        site.stop()


@pytest.fixture(scope="module")
def client(site: Deployment) -> Generator[Client]:
    with Client(site.url) as client:
        yield client.enter()


def begun(model: OllamaServer, text: str) -> bool:
    return any(text in "".join(request["input"]) for request in model.requests)


def test_a_worker_finishes_its_task_and_gives_back_the_next(
    site: Deployment, client: Client, model: OllamaServer
) -> None:
    first = client.ingest(client.upload("first.txt", "the first slow text")).json()["id"]
    second = client.ingest(client.upload("second.txt", "the second slow text")).json()["id"]
    worker = site.start("worker", label="leaving")
    wait_until(lambda: begun(model, "the first slow text"))
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(timeout=20) == 0
    assert (client.status(first), client.status(second)) == ("ready", "pending")
    assert not begun(model, "the second slow text")

    site.start("worker", label="heir")
    client.wait_ready([second])
    attempts = "SELECT count(*) FROM documents_ingestionattempt"
    assert site.rows(attempts) == [(2,)], "the task came back, nobody had to try again"


def test_the_work_of_a_killed_worker_is_taken_up(site: Deployment, client: Client, model: OllamaServer) -> None:
    document = client.ingest(client.upload("killed.txt", "a slow text of a killed worker")).json()["id"]
    worker = site.started[-1]
    wait_until(lambda: begun(model, "a slow text of a killed worker"))
    os.killpg(worker.running.pid, signal.SIGKILL)
    assert client.status(document) == "processing"

    # Whoever looks at the document finds that the lease has run out, as the sweep does where nobody looks.
    site.start("worker", label="heir-of-the-killed")
    client.wait_ready([document])
    attempts = (
        "SELECT a.state FROM documents_ingestionattempt a JOIN documents_document d ON d.id = a.document_id"
        f" WHERE d.public_id = '{document}' ORDER BY a.number"
    )
    assert site.rows(attempts) == [("superseded",), ("ready",)]


def test_the_web_server_finishes_its_requests_and_ends(site: Deployment, client: Client, model: OllamaServer) -> None:
    answers: list[httpx.Response] = []
    ask = {"input": "a slow question"}
    asking = threading.Thread(target=lambda: answers.append(client.http.post("/embeddings", json=ask)))
    asking.start()
    wait_until(lambda: begun(model, "a slow question"))
    web = site.started[0]
    web.process.send_signal(signal.SIGTERM)
    assert answers == []
    assert web.process.wait(timeout=10) == 0
    asking.join(timeout=10)
    assert [answer.status_code for answer in answers] == [200]
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", site.port), timeout=5):
        pass
    assert processes.group_members(web.running.pid) == []
