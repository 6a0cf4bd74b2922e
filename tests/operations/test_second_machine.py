"""Two web servers and two workers as if on two machines: they share database, broker and bucket, and nothing else."""

from collections.abc import Callable, Generator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from soat.standalone import processes
from soat.standalone.readiness import free_port
from tests.operations.compose import PROJECT
from tests.operations.deployment import Client, Deployment

BUCKET = "files-of-everybody"
DOCUMENTS = 10


@pytest.fixture
def bucket() -> Generator[str]:
    """The address of an S3 server with a bucket of its own."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    s3 = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys)
    s3.create_bucket(Bucket=BUCKET)
    yield f"http://{host}:{port}"
    stored = s3.list_objects_v2(Bucket=BUCKET)
    assert stored["KeyCount"] == DOCUMENTS
    s3.close()
    server.stop()


def machine(site: Deployment, name: str) -> dict[str, str]:
    """Return what differs from one machine to the next: every folder that a process could write to."""
    folder = site.folder / name
    (folder / "tmp").mkdir(parents=True)
    return {"TMPDIR": str(folder / "tmp"), "HOME": str(folder), "METRICS_DIR": str(folder / "metrics")}


def test_all_share_all_work(deploy: Callable[..., Deployment], bucket: str) -> None:
    site = deploy(
        "shared",
        FILES_STORAGE_PROVIDER="s3",
        FILES_S3_BUCKET=BUCKET,
        FILES_S3_ENDPOINT_URL=bucket,
        FILES_S3_REGION="us-east-1",
        FILES_S3_ACCESS_KEY_ID="key",
        FILES_S3_SECRET_ACCESS_KEY="secret",
        WORKER_CONCURRENCY="1",
        WEB_WORKERS="1",
    )
    urls, workers = [], []
    for number in (1, 2):
        # No such folder can be made, whoever asks.
        place = {
            **machine(site, f"machine-{number}"),
            "PYTHONPATH": str(PROJECT),
            "FILES_STORAGE_DIR": "/dev/null/files",
        }
        port = free_port("127.0.0.1", 0)
        urls.append(f"http://127.0.0.1:{port}")
        directory = Path(place["HOME"])
        site.start("web", label=f"web-{number}", directory=directory, WEB_BIND=f"127.0.0.1:{port}", **place)
        node = f"worker-{number}@{directory.name}"
        workers.append(
            (node, site.start("worker", f"--hostname={node}", label=f"worker-{number}", directory=directory, **place))
        )
    for url in urls:
        site.wait_ready(url)
    for node, _ in workers:
        site.wait_worker(node.partition("@")[0])

    with Client(urls[0]) as here, Client(urls[1]) as there:
        here.enter()
        there.log_in()
        there.project = here.project
        use(site, here, there)
    for node, started in workers:
        own = set(processes.group_members(started.running.pid))
        assert own & taken_by(site), f"{node} had no part in it"
    for number in (1, 2):
        left = [path for path in (site.folder / f"machine-{number}").rglob("*") if path.is_file()]
        assert [path for path in left if "metrics" not in path.parts] == [], "nothing stays on a local disk"


def use(site: Deployment, here: Client, there: Client) -> None:
    """Upload through one server, ingest through the other, and look through both."""
    documents = []
    for number in range(DOCUMENTS):
        uploader, ingester = (here, there) if number % 2 else (there, here)
        file = uploader.upload(f"{number}.txt", "\n\n".join(f"Paragraph {n} of text {number}." for n in range(40)))
        documents.append(ingester.ingest(file).json()["id"])
    for client in (there, here):
        client.wait_ready(documents)
    assert site.rows("SELECT state, count(*) FROM documents_ingestionattempt GROUP BY state") == [("ready", DOCUMENTS)]

    search = {"query": "Paragraph 7 of text 3.", "project_id": here.project}
    answers = [client.http.post("/knowledge/search", json=search).raise_for_status().json() for client in (here, there)]
    assert answers[0] == answers[1]
    assert len(answers[0]["results"]) == 10


def taken_by(site: Deployment) -> set[int]:
    """Return the processes that had a part in the work."""
    return {int(worker.rpartition(":")[2]) for (worker,) in site.rows("SELECT worker FROM documents_ingestionattempt")}
