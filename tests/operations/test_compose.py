"""The services of docker-compose.yml run by hand: each command, each environment, one whole server."""

import json
import re
import signal
import socket
from collections.abc import Generator

import httpx
import pytest

from soat.operations.queues import periodic_tasks, queue_names
from tests.operations.compose import PROJECT, Missing, compose_file, image_healthcheck, service
from tests.operations.deployment import PASSWORD, Client, Deployment, wait_until

CANARY = "zanzibar-quinine-lighthouse"


@pytest.fixture(scope="module")
def site(migrated: Deployment) -> Generator[Deployment]:
    """Web, one worker and beat."""
    static = migrated.run("web", ["python", "manage.py", "collectstatic", "--no-input"], LOG_FORMAT="console")
    assert static.returncode == 0, static.stderr
    try:
        for name in ("web", "worker", "beat"):
            migrated.start(name)
        migrated.wait_ready()
        migrated.wait_worker()
        yield migrated
    finally:
        migrated.stop()


@pytest.fixture(scope="module")
def client(site: Deployment) -> Generator[Client]:
    with Client(site.url) as client:
        yield client.enter()


def metrics(site: Deployment) -> dict[str, float]:
    answer = httpx.get(f"{site.url}/metrics", headers={"Authorization": f"Bearer {site.dot_env['METRICS_TOKEN']}"})
    assert answer.status_code == 200
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def log_lines(site: Deployment, name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in site.log(name).splitlines()]


def test_what_the_file_promises() -> None:
    services = compose_file()["services"]
    assert {"database", "broker", "migrate", "web", "worker", "beat", "ollama"} == set(services)
    assert services["ollama"]["profiles"] == ["ollama"]
    assert not any("container_name" in entry for entry in services.values())
    assert [name for name, entry in services.items() if "ports" in entry] == ["web"]
    for name in ("web", "worker", "beat"):
        assert services[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        assert services[name]["restart"] == "unless-stopped"
        assert "files:/srv/files" in services[name]["volumes"]
    for name in ("database", "broker"):
        assert "test" in services[name]["healthcheck"]
    volumes = {volume.partition(":")[0] for entry in services.values() for volume in entry.get("volumes", [])}
    assert volumes == set(compose_file()["volumes"])


@pytest.mark.parametrize("name", ["SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "POSTGRES_PASSWORD"])
def test_no_secret_has_a_default(name: str) -> None:
    secrets = dict.fromkeys(["SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "POSTGRES_PASSWORD"], "value")
    with pytest.raises(Missing, match=name):
        service("web", {key: value for key, value in secrets.items() if key != name})


def test_the_worker_takes_every_queue() -> None:
    secrets = dict.fromkeys(["SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "POSTGRES_PASSWORD"], "value")
    (queues,) = [part for part in service("worker", secrets).command if part.startswith("--queues=")]
    assert sorted(queues.removeprefix("--queues=").split(",")) == queue_names()


def test_queues_and_periodic_tasks_are_explained() -> None:
    explained = re.findall(r"^\| `([\w.]+)` \|", (PROJECT / "docs" / "operators.md").read_text(), re.MULTILINE)
    assert {*queue_names(), *periodic_tasks()} <= set(explained)


def test_a_document_is_ingested_and_found(site: Deployment, client: Client) -> None:
    file = client.upload("note.txt", f"The keeper of the {CANARY} sleeps at noon.")
    answer = client.ingest(file, wait=True, headers={"X-Request-Id": "trace-of-this-test"})
    assert (answer.status_code, answer.json()["status"]) == (201, "ready")
    assert answer.headers["X-Request-Id"] == "trace-of-this-test"
    search = {"query": f"who keeps the {CANARY}?", "project_id": client.project}
    (result,) = client.http.post("/knowledge/search", json=search).raise_for_status().json()["results"]
    assert CANARY in result["content"]


def test_a_request_is_followed_into_the_worker(site: Deployment, client: Client) -> None:
    file = client.upload("followed.txt", "A text.")
    document = client.ingest(file, wait=True, headers={"X-Request-Id": "followed"}).json()["id"]

    def of_the_request(name: str) -> list[dict[str, object]]:
        return [line for line in log_lines(site, name) if line.get("request_id") == "followed"]

    (asked,) = of_the_request("web")
    assert (asked["operation"], asked["method"], asked["status"]) == ("ingestDocument", "POST", 201)
    assert str(asked["user_id"]).startswith("user_")
    wait_until(lambda: any("clear" in str(line["message"]) for line in of_the_request("worker")))
    done = [line for line in of_the_request("worker") if "documents.tasks.ingest" in str(line["message"])]
    assert len(done) == 1
    assert str(done[0]["task_id"]) in str(done[0]["message"])
    ingested = [line for line in of_the_request("worker") if line.get("document_id") == document]
    assert all("attempt_id" in line for line in ingested)
    assert any("ready after" in str(line["message"]) for line in ingested)


def test_the_health_checks_tell_the_truth(site: Deployment) -> None:
    assert site.check_health("web") == 0
    assert site.check_health("worker") == 0
    assert site.run("web", [part.replace(":5047", ":1") for part in image_healthcheck()]).returncode != 0


def test_beat_sweeps_and_the_doctor_is_content(site: Deployment, client: Client) -> None:
    wait_until(lambda: "documents.tasks.sweep" in site.log("worker"))
    doctor = site.run("web", ["python", "manage.py", "doctor"])
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "Nothing is wrong." in doctor.stdout
    assert "WRONG" not in doctor.stdout
    assert f"SOAT_BASE_URL: {site.url}" in doctor.stdout


def test_the_numbers_of_all_processes_add_up(site: Deployment, client: Client) -> None:
    before = metrics(site)
    for _ in range(20):
        httpx.get(f"{site.url}/api/v1/users/me")
    client.ingest(client.upload("counted.txt", "One more text."), wait=True)
    after = metrics(site)

    def grown(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    asked = 'soat_http_requests_total{method="GET",operation="getCurrentUser",status="4xx"}'
    assert grown(asked) == 20, "counted by two web processes"
    assert grown('soat_http_request_seconds_count{operation="getCurrentUser"}') == 20
    assert grown('soat_ingestion_attempts_total{outcome="ready"}') == 1, "counted by a worker"
    assert grown('soat_embedder_calls_total{kind="document",result="ok"}') == 1
    assert grown('soat_embedder_texts_total{kind="document"}') == 1
    assert after['soat_documents{status="ready"}'] >= 1
    assert after['soat_queue_messages{queue="ingestion"}'] == 0
    assert after['soat_state_readable{source="database"}'] == after['soat_state_readable{source="broker"}'] == 1
    assert after['soat_periodic_task_last_run_timestamp_seconds{task="documents.tasks.sweep"}'] > 0


def test_numbers_outlive_the_process_that_counted_them(site: Deployment, client: Client) -> None:
    asked = 'soat_http_requests_total{method="GET",operation="getCurrentUser",status="4xx"}'
    for _ in range(10):
        httpx.get(f"{site.url}/api/v1/users/me")
    before = metrics(site)[asked]
    web = site.started[0].running
    folder = site.folder / "soat" / "metrics"
    workers = [pid for pid in web.remaining() if pid != web.pid]
    for pid in workers:
        site.run("web", ["kill", "-KILL", str(pid)])
    wait_until(lambda: not any((folder / f"counter_{pid}.db").exists() for pid in workers))
    site.wait_ready()
    assert metrics(site)[asked] == before


def test_the_admin_has_its_looks(site: Deployment) -> None:
    page = httpx.get(f"{site.url}/admin/login/")
    assert page.status_code == 200
    styles = re.findall(r'href="(/static/[^"]+\.css[^"]*)"', page.text)
    assert styles
    for address in styles:
        style = httpx.get(f"{site.url}{address}")
        assert (style.status_code, style.headers["Content-Type"]) == (200, 'text/css; charset="utf-8"')


def test_no_secret_and_no_text_is_logged(site: Deployment, client: Client) -> None:
    client.http.get("/documents", params={"path_prefix": f"/{CANARY}"}).raise_for_status()
    client.http.get(f"/documents/{CANARY}")
    token = client.http.headers["Authorization"].removeprefix("Bearer ")
    for name in ("web", "worker", "beat"):
        lines = log_lines(site, name)
        assert all({"timestamp", "level", "logger", "message"} <= set(line) for line in lines)
        text = site.log(name)
        for secret in (CANARY, PASSWORD, token, site.secret_key, site.dot_env["METRICS_TOKEN"]):
            assert secret not in text, f"{secret} in the log of {name}"


def test_everything_ends_when_asked(site: Deployment) -> None:
    for started in site.started:
        started.process.send_signal(signal.SIGTERM)
    for started in site.started:
        assert started.process.wait(timeout=20) == 0, started.program.name
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", site.port), timeout=5):
        pass
