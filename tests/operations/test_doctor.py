"""Each thing that can be wrong with a deployment, broken in earnest, and the sentence that the doctor has for it."""

import io
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import boto3
import psycopg
import pytest
from cryptography.fernet import Fernet
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from moto.server import ThreadedMotoServer
from pytest_django.fixtures import Settings

from documents.models import AttemptState, DocumentChunk, IngestionAttempt
from embeddings.indexes import index_name, vector_tables
from embeddings.models import EmbeddingSpace
from soat.celery import app
from soat.operations import queues
from soat.operations.doctor.background import check_background, check_work
from soat.operations.doctor.configuration import check_address, check_configuration
from soat.operations.doctor.database import check_database
from soat.operations.doctor.examination import examine
from soat.operations.doctor.files import check_files
from soat.operations.doctor.findings import Finding, Level
from soat.operations.doctor.space import check_embedder, check_space
from tests.conftest import Cast
from tests.embeddings.model_server import Fault, running
from tests.embeddings.ollama_server import OllamaServer

Check = Callable[[], Iterator[Finding]]


def complaints(check: Check, part: str, level: Level = Level.WRONG) -> list[Finding]:
    """Return what a check has to say about a part; every complaint says why it matters and what mends it."""
    found = [finding for finding in check() if (finding.part, finding.level) == (part, level)]
    assert all(finding.what and finding.why and finding.mend for finding in found)
    return found


def only(check: Check, part: str, level: Level = Level.WRONG) -> Finding:
    (finding,) = complaints(check, part, level)
    return finding


def test_the_settings(settings: Settings) -> None:
    settings.SECRET_KEY = "short"
    assert only(check_configuration, "SECRET_KEY").what == "SECRET_KEY is easy to guess."
    settings.SECRET_KEY = "django-insecure-" + "0123456789" * 5
    assert "token_urlsafe(50)" in only(check_configuration, "SECRET_KEY").mend
    settings.SECRET_KEY = "a key of no less than fifty characters, some of them different"
    settings.DEBUG = True
    assert only(check_configuration, "DEBUG").what == "DEBUG is on."
    settings.FIELD_ENCRYPTION_KEYS = []
    assert "Fernet.generate_key()" in only(check_configuration, "FIELD_ENCRYPTION_KEYS").mend
    settings.METRICS_TOKEN, settings.METRICS_DIR = "token", None
    assert "none of the workers" in only(check_configuration, "METRICS_DIR", Level.NOTE).why
    settings.DEBUG, settings.METRICS_TOKEN = False, ""
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert [finding.level for finding in check_configuration()] == [Level.OK] * 3


def test_the_address(settings: Settings, live_server: SimpleNamespace) -> None:
    settings.BASE_URL = ""
    assert only(check_address, "SOAT_BASE_URL").what == "SOAT_BASE_URL is not set."
    settings.BASE_URL = "http://127.0.0.1:1"
    assert "does not answer from here" in only(check_address, "SOAT_BASE_URL", Level.NOTE).what
    settings.BASE_URL = "http://soat.invalid"
    assert "is not https" in complaints(check_address, "SOAT_BASE_URL", Level.NOTE)[0].what
    settings.BASE_URL = live_server.url
    assert [finding.level for finding in check_address()] == [Level.OK]
    with running(OllamaServer()) as other:
        settings.BASE_URL = other.url
        assert "is answered by something else" in only(check_address, "SOAT_BASE_URL").what


class SendsBack(BaseHTTPRequestHandler):
    """The server behind a proxy that ends TLS and does not say so: it asks for what it was just asked for."""

    def do_GET(self) -> None:
        self.send_response(301)
        self.send_header("Location", f"http://{self.headers['Host']}{self.path}")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep the tests' output quiet."""


def test_a_proxy_that_does_not_say_https(settings: Settings) -> None:
    with HTTPServer(("127.0.0.1", 0), SendsBack) as server:
        answering = threading.Thread(target=server.handle_request)
        answering.start()
        settings.BASE_URL = f"http://127.0.0.1:{server.server_port}"
        finding = only(check_address, "SOAT_BASE_URL")
        answering.join()
    assert "redirects to itself for ever" in finding.what
    assert "SECURE_PROXY_SSL_HEADER" in finding.mend


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("postgres://soat@127.0.0.1:1/soat", "Connection refused"),
        ("postgres://soat@nobody.invalid/soat", "nobody.invalid"),
    ],
)
def test_a_database_that_is_not_there(db: None, address: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unreachable = psycopg.conninfo.conninfo_to_dict(address.replace("postgres://", "postgresql://"))
    monkeypatch.setattr(connection, "get_connection_params", lambda: unreachable)
    finding = only(check_database, "database")
    assert finding.what.startswith("The database cannot be used: ")
    assert reason in finding.what
    assert "DATABASE_URL" in finding.mend


def test_a_database_without_pgvector(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_extension SET extname = 'another' WHERE extname = 'vector'")
    assert "the extension pgvector is not in this database" in only(check_database, "database").what


def test_an_old_pgvector(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    finding = only(check_database, "database")
    assert finding.what == "pgvector is of version 0.7.4; 0.8 or later is needed."
    assert "ALTER EXTENSION vector UPDATE" in finding.mend


def test_missing_migrations(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'documents'")
    finding = only(check_database, "migrations")
    assert "migrations are not applied: documents.0001_" in finding.what
    assert "manage.py migrate" in finding.mend
    parts = {finding.part for finding in examine()}
    assert "space" not in parts, "what needs tables is not looked at"


def test_a_clock_that_is_wrong(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 60)
    assert "clock and the database's are 60." in only(check_database, "clock").what


def test_a_healthy_database(db: None) -> None:
    assert [(finding.part, finding.level) for finding in check_database()] == [
        ("database", Level.OK),
        ("clock", Level.OK),
        ("migrations", Level.OK),
    ]


def test_another_space(db: None, settings: Settings) -> None:
    assert {finding.level for finding in check_space()} == {Level.OK}
    settings.EMBEDDING_MODEL = "another-model"
    finding = only(check_space, "space")
    assert "The settings name local/another-model (384 dimensions)" in finding.what
    settings.EMBEDDING_PROVIDER = settings.EMBEDDING_MODEL = ""
    assert only(check_space, "space").what.startswith("There is no embedder")


def test_indexes(db: None) -> None:
    space = EmbeddingSpace.objects.get(is_current=True)
    chunks, entries = vector_tables()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {index_name(chunks, space)}")
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [index_name(entries, space)]
        )
    missing, invalid = complaints(check_space, "indexes")
    assert missing.what == "The table documents_chunkvector has no vector index for the current space."
    assert invalid.what == "The vector index of memories_entryvector is not valid: its build was interrupted."
    assert "manage.py prepare_space" in missing.mend


def test_the_embedder(settings: Settings) -> None:
    assert {finding.level for finding in check_embedder()} == {Level.OK}
    with running(OllamaServer()) as model:
        settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL = "ollama", model.model
        settings.EMBEDDING_DIMENSIONS, settings.OLLAMA_BASE_URL = model.dimensions, model.url
        assert {finding.level for finding in check_embedder()} == {Level.OK}
        model.always = Fault(503, "loading")
        assert "ollama/test-embed does not answer" in only(check_embedder, "embedder").what
        model.always = None
        settings.EMBEDDING_DIMENSIONS = 384
        finding = only(check_embedder, "embedder")
        assert "EMBEDDING_DIMENSIONS" in finding.what
        assert "EMBEDDING_DIMENSIONS is 384" in finding.why
    settings.OLLAMA_BASE_URL = "http://127.0.0.1:1"
    assert "Is Ollama running" in only(check_embedder, "embedder").mend


def test_a_folder_that_cannot_be_written(settings: Settings) -> None:
    assert {finding.level for finding in check_files()} == {Level.OK}
    place_files(settings, Path("/dev/null/files"))
    finding = only(check_files, "files")
    assert finding.what.startswith("The server cannot write a file to the folder /dev/null/files: ")
    assert "FILES_STORAGE_DIR" in finding.mend


def test_what_is_written_disappears(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place_files(settings, tmp_path)
    monkeypatch.setattr("django.core.files.storage.FileSystemStorage._open", lambda *_: io.BytesIO(b"other"))
    assert "is read back as something else" in only(check_files, "files").what


def test_a_full_disk(settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 2**60
    finding = only(check_files, "disk")
    assert "less than the largest upload (1073741824.0 GiB)" in finding.what


def test_a_bucket_that_is_not_there(settings: Settings) -> None:
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        keys = {"region_name": "us-east-1", "endpoint_url": f"http://{host}:{port}"}
        options = {"bucket_name": "files", "access_key": "key", "secret_key": "secret", **keys}
        settings.FILES_STORAGE_PROVIDER, settings.FILES_S3_BUCKET = "s3", "files"
        storage = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
        settings.STORAGES = {**django_settings.STORAGES, "default": storage}
        assert "cannot write a file to the bucket files: " in only(check_files, "files").what
        s3 = boto3.client("s3", aws_access_key_id="key", aws_secret_access_key="secret", **keys)
        s3.create_bucket(Bucket="files")
        assert [finding.level for finding in check_files()] == [Level.OK]
        s3.close()
    finally:
        server.stop()


def place_files(settings: Settings, folder: Path) -> None:
    settings.FILES_STORAGE_DIR = folder
    options = {"location": str(folder)}
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = {**django_settings.STORAGES, "default": storage}


def test_a_broker_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere() -> object:
        return app.connection("redis://:hidden@127.0.0.1:1/0")

    monkeypatch.setattr(app, "connection_for_read", elsewhere)
    finding = only(check_background, "broker")
    assert "Connection refused" in finding.what
    assert "hidden" not in finding.what


def test_workers_and_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soat.operations.doctor.background.PING_SECONDS", 0.2)
    assert only(check_background, "workers").what == "No worker answers."
    answers = {"celery@one": {"default"}}
    monkeypatch.setattr("soat.operations.doctor.background._workers", lambda: answers)
    with app.connection_for_write() as broker:
        broker.default_channel.client.delete("soat:last-runs")  # type: ignore[attr-defined]
    finding = only(check_background, "workers")
    assert finding.what == "No worker takes tasks from the queue ingestion."
    assert "--queues default,ingestion" in finding.mend
    assert "documents.tasks.sweep has never run" in only(check_background, "beat").what
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: timezone.now().timestamp() - 600)
        queues.note_run("documents.tasks.sweep")
    assert "documents.tasks.sweep last ran 600 seconds ago" in only(check_background, "beat").what
    queues.note_run("documents.tasks.sweep")
    assert complaints(check_background, "beat") == [], "others are not due yet"


def test_work_that_does_not_get_done(cast: Cast) -> None:
    answer = cast.a.post("/api/v1/documents", {"content": "A text."}, format="json")
    assert answer.status_code == 201
    assert {finding.level for finding in check_work()} == {Level.OK}
    attempt = IngestionAttempt.objects.get()
    now = timezone.now()
    DocumentChunk.objects.update(awaits_vector=True, created_at=now)
    assert only(check_work, "vectors", Level.NOTE).what.startswith("1 rows have no vector yet")
    DocumentChunk.objects.update(created_at=now - timedelta(seconds=7_250))
    assert re.search(r"the first for 72\d\d seconds", only(check_work, "vectors").what)
    attempt.state, attempt.lease_expires_at = AttemptState.PROCESSING, now - timedelta(minutes=5)
    attempt.save()
    assert "1 runs lost their worker, the first 300 seconds ago" in only(check_work, "ingestion").what
    attempt.state, attempt.created_at = AttemptState.QUEUED, now - timedelta(minutes=10)
    attempt.save()
    finding = only(check_work, "ingestion", Level.NOTE)
    assert finding.what == "1 documents wait for a worker, the first for 600 seconds."
    assert "--scale worker" in finding.mend


def test_the_command_fails_when_something_is_wrong(
    db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("soat.operations.doctor.background.PING_SECONDS", 0.2)
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", no_color=True)
    assert ended.value.code == 1
    output = capsys.readouterr().out
    assert "WRONG  workers: No worker answers.\n       Why it matters: " in output
    assert "\n       What mends it: start one: celery -A soat.celery worker" in output
    assert output.strip().endswith("things are wrong.")
