"""Settings are right, or the server does not start and says why in one sentence."""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured
from rest_framework.test import APIClient

from tests.api.answers import body_of, error_of
from tests.conftest import Cast

ROOT = Path(__file__).resolve().parents[2]
SECRET = {"SECRET_KEY": "long-and-random-and-known-to-nobody"}
LOCAL = {"EMBEDDING_PROVIDER": "local", "EMBEDDING_MODEL": "all-MiniLM-L6-v2"}
FERNET_KEY = "dGhlLXRlc3RzLWhhdmUtYS1rZXktb2YtdGhlaXItb3c="


def settings_of(**environment: str) -> dict[str, Any]:
    """Return what the settings are in this environment, with nothing else in it and no ``.env`` file."""
    with (
        mock.patch.dict(os.environ, {**SECRET, **environment}, clear=True),
        mock.patch.object(environ.Env, "read_env"),
    ):
        return runpy.run_path(str(ROOT / "soat" / "settings.py"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SOAT_STANDALONE", "perhaps"),
        ("DEBUG", "2"),
        ("LOG_LEVEL", "LOUD"),
        ("SOAT_BASE_URL", "soat.example"),
        ("SOAT_BASE_URL", "ftp://soat.example"),
        ("SOAT_BASE_URL", "http://[::1"),
        ("SOAT_BASE_URL", "http://soat.example:port"),
        ("SOAT_BASE_URL", "http://"),
        ("OLLAMA_BASE_URL", "localhost:11434"),
        ("EMBEDDING_BASE_URL", "/v1"),
        ("FILES_S3_ENDPOINT_URL", "minio:9000"),
        ("DATABASE_URL", "mysql://soat@localhost/soat"),
        ("DATABASE_URL", "sqlite:///soat.db"),
        ("DATABASE_URL", "localhost:5432"),
        ("DATABASE_URL", "nonsense"),
        ("DATABASE_URL", "postgres://soat@localhost:port/soat"),
        ("DATABASE_URL", "postgres://soat@localhost:5432"),
        ("CELERY_BROKER_URL", "http://localhost:6379"),
        ("CELERY_BROKER_URL", "localhost:6379"),
        ("CELERY_BROKER_URL", "redis://localhost:port/0"),
        ("CELERY_BROKER_URL", "redis://localhost:6379/0;nonsense"),
        ("CELERY_BROKER_URL", "sentinel://localhost:26379"),
        ("DATABASE_POOL_MAX", "0"),
        ("LOCK_TIMEOUT_MS", "-1"),
        ("SWEEP_INTERVAL_SECONDS", "0.5"),
        ("EMBEDDING_PROVIDER", "magic"),
        ("KNOWLEDGE_TEXT_SEARCH_CONFIG", "klingon"),
        ("KNOWLEDGE_TEXT_SEARCH_CONFIG", "English"),
        ("KNOWLEDGE_RERANK_URL", "rerank.example/v1/rerank"),
        ("KNOWLEDGE_RERANK_URL", "https://user:hunter2@rerank.example/rerank"),
        ("KNOWLEDGE_RERANK_URL", "https://rerank.example/rerank?key=hunter2"),
        ("KNOWLEDGE_RERANK_API_KEY", "two words"),
        ("KNOWLEDGE_RERANK_API_KEY", "schlüssel"),
        ("KNOWLEDGE_RERANK_TIMEOUT_MS", "99"),
        ("KNOWLEDGE_RERANK_DEPTH", "0"),
        ("KNOWLEDGE_RERANK_DEPTH", "201"),
        ("EMBEDDING_DIMENSIONS", "many"),
        ("EMBEDDING_DIMENSIONS", "4001"),
        ("EMBEDDING_DIMENSIONS", "-384"),
        ("EMBEDDING_CONCURRENCY", "0"),
        ("EMBEDDING_THREADS", "0"),
        ("EMBEDDING_TIMEOUT_MS", "1"),
        ("EMBEDDING_QUERY_TIMEOUT_MS", "soon"),
        ("FILES_STORAGE_PROVIDER", "tape"),
        ("MAX_UPLOAD_BYTES", "1GB"),
        ("MAX_REQUEST_BYTES", "10"),
        ("SYNC_INGESTION_MAX_BYTES", "0"),
        ("SYNC_WAIT_TIMEOUT_MS", "0"),
        ("INGESTION_STALL_TIMEOUT_MS", "999"),
        ("CONVERSION_STALL_TIMEOUT_MS", "999"),
        ("INGESTION_LEASE_SECONDS", "0"),
        ("JWT_TTL_SECONDS", "59"),
        ("FIELD_ENCRYPTION_KEYS", "short"),
        ("FIELD_ENCRYPTION_KEYS", f"{FERNET_KEY},short"),
        ("FIELD_ENCRYPTION_KEYS", "schlüssel"),
    ],
)
def test_a_wrong_value_is_refused_with_a_sentence_that_names_it(name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        settings_of(**{name: value})
    sentence = str(refused.value)
    assert sentence.startswith(f"{name} must be ")
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("name", ["DATABASE_URL", "CELERY_BROKER_URL"])
def test_the_password_in_an_address_is_not_shown(name: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        settings_of(**{name: "amqp://soat:hunter2@localhost:port/soat"})
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KNOWLEDGE_RERANK_URL", "https://user:hunter2@rerank.example/rerank"),
        ("KNOWLEDGE_RERANK_URL", "https://rerank.example/rerank?key=hunter2"),
        ("KNOWLEDGE_RERANK_API_KEY", "hunter2 and more"),
    ],
)
def test_what_may_be_a_secret_is_not_shown(name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        settings_of(**{name: value})
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY"),
        ({"SECRET_KEY": "   "}, "SECRET_KEY"),
        (LOCAL, "EMBEDDING_DIMENSIONS"),
        ({**LOCAL, "EMBEDDING_DIMENSIONS": "0"}, "EMBEDDING_DIMENSIONS"),
        ({"KNOWLEDGE_RERANK_URL": "http://localhost:8000/rerank"}, "KNOWLEDGE_RERANK_MODEL"),
        ({"FILES_STORAGE_PROVIDER": "s3"}, "FILES_S3_BUCKET"),
        ({"FILES_S3_ACCESS_KEY_ID": "id"}, "FILES_S3_SECRET_ACCESS_KEY"),
        ({"FILES_S3_SECRET_ACCESS_KEY": "secret"}, "FILES_S3_ACCESS_KEY_ID"),
    ],
)
def test_what_must_be_given_is_named_when_it_is_missing(environment: dict[str, str], name: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=name):
        settings_of(**environment)


@pytest.mark.parametrize("excuse", ["SOAT_STANDALONE", "DEBUG"])
def test_only_standalone_and_debug_start_without_a_secret_key(excuse: str) -> None:
    assert len(settings_of(SECRET_KEY="", **{excuse: "true"})["SECRET_KEY"]) >= 32


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("LOG_LEVEL", "LOG_LEVEL"),
        ("DATABASE_URL", "DATABASES"),
        ("CELERY_BROKER_URL", "CELERY_BROKER_URL"),
        ("DATABASE_POOL_MAX", "DATABASE_POOL_MAX"),
        ("FILES_STORAGE_PROVIDER", "FILES_STORAGE_PROVIDER"),
        ("FILES_STORAGE_DIR", "FILES_STORAGE_DIR"),
        ("OLLAMA_BASE_URL", "OLLAMA_BASE_URL"),
        ("DEBUG", "DEBUG"),
        ("ALLOWED_HOSTS", "ALLOWED_HOSTS"),
        ("FIELD_ENCRYPTION_KEYS", "FIELD_ENCRYPTION_KEYS"),
    ],
)
def test_a_variable_that_is_set_to_nothing_is_not_set(name: str, setting: str) -> None:
    assert settings_of(**{name: " "})[setting] == settings_of()[setting]


@pytest.mark.parametrize(
    ("name", "value", "setting", "expected"),
    [
        ("SECRET_KEY", "$begins-with-a-dollar", "SECRET_KEY", "$begins-with-a-dollar"),
        ("DEBUG", "Yes", "DEBUG", True),
        ("SOAT_BASE_URL", "https://soat.example/", "BASE_URL", "https://soat.example"),
        (
            "SOAT_BASE_URL",
            "https://soat.example/below",
            "ALLOWED_HOSTS",
            ["soat.example", "localhost", "127.0.0.1", "[::1]"],
        ),
        ("SOAT_BASE_URL", "https://soat.example/below", "CSRF_TRUSTED_ORIGINS", ["https://soat.example"]),
        (
            "SOAT_BASE_URL",
            "http://[fd00::1]:5047",
            "ALLOWED_HOSTS",
            ["[fd00::1]", "localhost", "127.0.0.1", "[::1]"],
        ),
        ("ALLOWED_HOSTS", " a.example , b.example,", "ALLOWED_HOSTS", ["a.example", "b.example"]),
        ("CELERY_BROKER_URL", "redis+socket:///run/b.sock", "CELERY_BROKER_URL", "redis+socket:///run/b.sock"),
        ("CELERY_BROKER_URL", "rediss://:p@h:1/2", "CELERY_BROKER_URL", "rediss://:p@h:1/2"),
        ("FILES_STORAGE_DIR", "/srv/files", "FILES_STORAGE_DIR", Path("/srv/files")),
        ("FILES_STORAGE_DIR", "elsewhere", "FILES_STORAGE_DIR", ROOT / "elsewhere"),
        ("EMBEDDING_DIMENSIONS", "4000", "EMBEDDING_DIMENSIONS", 4000),
        ("FIELD_ENCRYPTION_KEYS", f"{FERNET_KEY}, {FERNET_KEY}", "FIELD_ENCRYPTION_KEYS", [FERNET_KEY, FERNET_KEY]),
    ],
)
def test_a_right_value_is_taken(name: str, value: str, setting: str, expected: object) -> None:
    assert settings_of(**{name: value})[setting] == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://u:p%40ss@db.example:6432/soat", ("db.example", 6432, "u", "p@ss", "soat")),
        ("postgresql://u@/soat?host=/run/postgresql", ("", "", "u", "", "soat")),
    ],
)
def test_a_database_address_is_taken_apart(url: str, expected: tuple[object, ...]) -> None:
    database = settings_of(DATABASE_URL=url)["DATABASES"]["default"]
    assert tuple(database[part] for part in ("HOST", "PORT", "USER", "PASSWORD", "NAME")) == expected
    assert database["OPTIONS"].get("host") == ("/run/postgresql" if not expected[0] else None)
    assert database["OPTIONS"]["pool"]["max_size"] == 20
    assert "hnsw.iterative_scan=" in database["OPTIONS"]["options"]
    assert database.get("ATOMIC_REQUESTS", False) is False


def test_s3_is_reached_with_the_keys_of_the_settings_only() -> None:
    options = settings_of(
        FILES_STORAGE_PROVIDER="s3",
        FILES_S3_BUCKET="files",
        FILES_S3_PREFIX="soat",
        FILES_S3_REGION="eu-central-1",
        FILES_S3_ENDPOINT_URL="http://minio:9000/",
        FILES_S3_ACCESS_KEY_ID="id",
        FILES_S3_SECRET_ACCESS_KEY="secret",
        AWS_SESSION_TOKEN="of somebody else",
    )["STORAGES"]["default"]["OPTIONS"]
    expected = {
        "bucket_name": "files",
        "location": "soat",
        "region_name": "eu-central-1",
        "endpoint_url": "http://minio:9000",
        "access_key": "id",
        "secret_key": "secret",
        "security_token": None,
        "file_overwrite": False,
    }
    assert {name: options[name] for name in expected} == expected
    assert options["max_memory_size"] > 0
    assert options["client_config"].connect_timeout <= 5


def test_a_command_says_in_one_line_what_is_wrong() -> None:
    environment = {"PATH": os.environ["PATH"], **SECRET, **LOCAL, "SOAT_STANDALONE": "true"}
    run = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr == (
        "SOAT cannot start: EMBEDDING_DIMENSIONS is not set:"
        " give the number of dimensions that EMBEDDING_MODEL answers with.\n"
    )


@pytest.mark.parametrize("unset", ["EMBEDDING_PROVIDER", "EMBEDDING_MODEL"])
def test_without_an_embedder_the_server_starts_and_says_what_it_cannot_do(
    cast: Cast, settings: Any, unset: str
) -> None:
    setattr(settings, unset, "")
    for path, body in (
        ("/api/v1/embeddings", {"input": "a"}),
        ("/api/v1/knowledge/search", {"query": "a"}),
    ):
        error_of(cast.a.post(path, body, format="json"), 503, "EMBEDDING_NOT_CONFIGURED")
    created = cast.a.post("/api/v1/documents", {"content": "stored all the same"}, format="json")
    assert body_of(created, 201)["status"] == "ready"
    ready = APIClient().get("/health/ready")
    assert "EMBEDDING_PROVIDER" in body_of(ready, 503)["checks"]["embedder"]


def test_what_the_address_says_of_the_connection_is_kept() -> None:
    url = "postgres://soat@db/soat?sslmode=require&options=-c%20statement_timeout%3D9s"
    options = settings_of(DATABASE_URL=url)["DATABASES"]["default"]["OPTIONS"]
    assert options["sslmode"] == "require"
    assert options["options"].startswith("-c statement_timeout=9s -c hnsw.")
    plain = settings_of(DATABASE_URL="postgres://soat@db/soat")["DATABASES"]["default"]["OPTIONS"]
    assert plain["options"].startswith("-c hnsw.")


def test_sentinels_are_asked_for_the_server_that_is_named() -> None:
    sentinels = "sentinel://one:26379;sentinel://two:26379"
    found = settings_of(CELERY_BROKER_URL=sentinels, CELERY_BROKER_MASTER_NAME="mymaster")
    assert found["CELERY_BROKER_TRANSPORT_OPTIONS"]["master_name"] == "mymaster"
    assert "master_name" not in settings_of()["CELERY_BROKER_TRANSPORT_OPTIONS"]
