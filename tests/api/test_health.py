"""Up, and ready: each thing that is missing is named with what to do about it."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from rest_framework.test import APIClient

from embeddings.indexes import index_name, missing_indexes, vector_tables
from embeddings.models import EmbeddingSpace
from embeddings.port import EmbedderMisconfigured
from embeddings.spaces import space_status
from tests.api.answers import body_of
from tests.conftest import Cast
from tests.core.test_broker import broker_at, dead_address

READY = "/health/ready"
CHECKS = {"database", "migrations", "space", "indexes", "embedder", "broker"}


def faults(status: int = 503) -> dict[str, str]:
    """Return what readiness complains of."""
    body = body_of(Client().get(READY), status)
    assert body["status"] == ("ok" if status == 200 else "unavailable")
    return {name: state for name, state in body["checks"].items() if state != "ok"}


def test_the_process_is_up_for_everybody() -> None:
    for client in (Client(), Client(enforce_csrf_checks=True), APIClient(HTTP_AUTHORIZATION="Bearer garbage")):
        assert body_of(client.get("/health")) == {"status": "ok"}
    assert Client().head("/health").status_code == 200


@pytest.mark.django_db
def test_everything_is_there() -> None:
    body = body_of(Client().get(READY))
    assert body == {
        "status": "ok",
        "checks": dict.fromkeys(CHECKS, "ok"),
        "waiting_for_vectors": {"chunks": 0, "entries": 0},
    }


@pytest.mark.django_db
def test_a_broker_that_is_away_is_named() -> None:
    with broker_at(dead_address()):
        assert faults() == {"broker": "the broker does not answer"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "harm",
    ["DROP INDEX {}", "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{}'::regclass"],
    ids=["missing", "half built"],
)
def test_a_missing_index_is_named_with_the_command_that_builds_it(harm: str) -> None:
    space = space_status().space
    assert space is not None
    model = vector_tables()[0]
    with connection.cursor() as cursor:
        cursor.execute(harm.format(index_name(model, space)))
    assert missing_indexes(space) == [model]
    (fault,) = faults().items()
    assert fault == ("indexes", f"missing on {model._meta.db_table}: run manage.py prepare_space")


@pytest.mark.parametrize(
    ("name", "value"),
    [("EMBEDDING_PROVIDER", "ollama"), ("EMBEDDING_MODEL", "another"), ("EMBEDDING_DIMENSIONS", 768)],
)
@pytest.mark.django_db
def test_another_space_than_the_stored_one_is_named(settings: Any, name: str, value: object) -> None:
    assert space_status().space is not None
    setattr(settings, name, value)
    (fault,) = faults().items()
    assert fault[0] == "space"
    assert str(value) in fault[1]
    assert all(setting in fault[1] for setting in ("EMBEDDING_PROVIDER", "EMBEDDING_MODEL", "EMBEDDING_DIMENSIONS"))


@pytest.mark.django_db
def test_an_embedder_that_cannot_be_built_is_named(settings: Any) -> None:
    EmbeddingSpace.objects.all().delete()
    settings.EMBEDDING_MODEL = "no-such-model"
    assert "no-such-model" in faults()["embedder"]


@pytest.mark.django_db
def test_migrations_that_are_not_applied_are_counted() -> None:
    MigrationRecorder(connection).record_unapplied("documents", "0005_tags_of_own_files")
    assert faults() == {"migrations": "1 migrations are not applied: run manage.py migrate"}


@pytest.mark.django_db(transaction=True)
def test_prepare_space_builds_what_is_missing(capsys: Any) -> None:
    space = space_status().space
    assert space is not None
    call_command("prepare_space")
    assert missing_indexes(space) == []
    assert faults(200) == {}


def test_ready_says_how_many_rows_wait_for_their_vector(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise EmbedderMisconfigured("EMBEDDING_MODEL names no model.")

    memory = cast.a.post("/api/v1/memories", {"name": "m"}, format="json").json()["id"]
    with monkeypatch.context() as down:
        down.setattr("embeddings.services.configured_embedder", broken)
        for text in ("tea", "coffee"):
            cast.a.post("/api/v1/memory-entries", {"memory_id": memory, "content": text}, format="json")
        cast.a.post("/api/v1/documents", {"content": "milk"}, format="json")
    assert cast.anonymous.get("/health/ready").json()["waiting_for_vectors"] == {"chunks": 1, "entries": 2}
