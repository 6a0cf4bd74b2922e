"""Deleting a project: refused while it holds anything, or all of it, rows and bytes, whatever comes between."""

import functools
import threading
from typing import Any

import pytest
from django.apps import apps
from django.core.files.storage import default_storage
from django.db import models

from documents.attempts import AttemptLost, claim, fenced
from documents.models import Document, DocumentChunk, IngestionAttempt
from documents.pipeline import ingest
from memories.models import Memory, MemoryEntry
from soat.files.models import File, ReleasedBytes
from soat.files.services import discard_released
from soat.tenancy import deletion, tasks
from soat.tenancy.models import ApiKey, Project
from tests.api.answers import body_of, error_of, names_field, rows_of
from tests.conftest import Cast
from tests.memories.crowd import at_once, holding
from tests.tenancy.policies import allow, caller_with

PROJECTS, MEMORIES, ENTRIES, DOCUMENTS, FILES = (
    f"/api/v1/{name}" for name in ("projects", "memories", "memory-entries", "documents", "files")
)


def post(client: Any, at: str, /, **body: Any) -> Any:
    return client.post(at, body, format="json")


def fill(cast: Cast) -> dict[str, Any]:
    """Put one of each into project A, and a memory into project B."""
    memory = body_of(post(cast.a, MEMORIES, name="m"), 201)["id"]
    body_of(post(cast.a, ENTRIES, memory_id=memory, content="A fact."), 201)
    document = body_of(post(cast.a, DOCUMENTS, content="A text.", path="/x.txt"), 201)["id"]
    file = body_of(post(cast.a, f"{FILES}/upload/base64", content="eA==", filename="y.txt"), 201)["id"]
    queued = body_of(post(cast.a, f"{DOCUMENTS}/ingest", file_id=file), 202)["id"]
    body_of(post(cast.b, MEMORIES, name="of B"), 201)
    return {"memory": memory, "document": document, "file": file, "queued": queued}


def path_of(project: Project, query: str = "") -> str:
    return f"{PROJECTS}/{project.public_id}{query}"


def rows_left(project_id: int) -> dict[str, int]:
    """Return how many rows of any table still name the project."""
    left = {}
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey) and field.related_model is Project:
                left[model._meta.db_table] = model._base_manager.filter(**{field.attname: project_id}).count()
    return {table: count for table, count in left.items() if count}


def keys_of(project: Project) -> list[str]:
    return list(File.objects.filter(project=project).values_list("storage_key", flat=True))


def test_an_empty_project_goes_with_its_keys(cast: Cast) -> None:
    assert cast.admin.delete(path_of(cast.project_a)).status_code == 204
    error_of(cast.admin.get(path_of(cast.project_a)), 404, "RESOURCE_NOT_FOUND")
    error_of(cast.a.get(MEMORIES), 401, "UNAUTHORIZED")
    assert ApiKey.objects.count() == 1


def test_a_project_that_holds_something_stays_without_force(cast: Cast) -> None:
    fill(cast)
    for query in ("", "?force=false"):
        error = error_of(cast.admin.delete(path_of(cast.project_a, query)), 409, "PROJECT_HAS_DEPENDENTS")
        assert error["meta"] == {"dependents": {"documents": 2, "files": 2, "memories": 1}}
    assert names_field(cast.admin.delete(path_of(cast.project_a, "?force=yes")), "force")
    body_of(cast.a.get(MEMORIES))


@pytest.mark.parametrize("few", [deletion.FEW_ROWS, 0])
def test_with_force_rows_and_bytes_go(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    cast = committed_cast
    monkeypatch.setattr("soat.tenancy.deletion.FEW_ROWS", few)
    monkeypatch.setattr("soat.tenancy.deletion.BATCH_SIZE", 1)
    fill(cast)
    stored = keys_of(cast.project_a)
    assert cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code == 204
    if not few:
        assert rows_left(cast.project_a.pk)
        tasks.purge(cast.project_a.pk)
    assert rows_left(cast.project_a.pk) == {}
    assert not Project.objects.filter(pk=cast.project_a.pk).exists()
    assert not any(default_storage.exists(key) for key in stored)
    assert not MemoryEntry.objects.exists()
    assert not DocumentChunk.objects.exists()
    assert not ReleasedBytes.objects.exists()
    assert len(rows_of(cast.admin.get(MEMORIES))) == 1


def test_what_is_being_deleted_is_gone_for_everybody(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = committed_cast
    monkeypatch.setattr("soat.tenancy.deletion.FEW_ROWS", 0)
    made = fill(cast)
    a = cast.project_a.public_id
    assert cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code == 204
    error_of(cast.a.get(MEMORIES), 401, "UNAUTHORIZED")
    assert [row["id"] for row in rows_of(cast.admin.get(PROJECTS))] == [cast.project_b.public_id]
    assert [row["name"] for row in rows_of(cast.admin.get(MEMORIES))] == ["of B"]
    assert rows_of(cast.admin.get(DOCUMENTS)) == rows_of(cast.admin.get(FILES)) == []
    assert "key-a" not in [row["name"] for row in rows_of(cast.admin.get("/api/v1/api-keys"))]
    for path in (
        path_of(cast.project_a),
        f"{MEMORIES}/{made['memory']}",
        f"{DOCUMENTS}/{made['document']}",
        f"{DOCUMENTS}/{made['queued']}/status",
        f"{FILES}/{made['file']}",
        f"{FILES}/{made['file']}/download",
        f"{ENTRIES}?memory_id={made['memory']}",
    ):
        error_of(cast.admin.get(path), 404, "RESOURCE_NOT_FOUND")
    error_of(cast.admin.delete(path_of(cast.project_a, "?force=true")), 404, "RESOURCE_NOT_FOUND")
    error_of(post(cast.admin, MEMORIES, project_id=a, name="x"), 403, "FORBIDDEN")
    error_of(post(cast.admin, ENTRIES, memory_id=made["memory"], content="x"), 404, "RESOURCE_NOT_FOUND")
    error_of(post(cast.admin, "/api/v1/knowledge/search", project_id=a, document_paths=["/"]), 403, "FORBIDDEN")
    searches = {"document_paths": ["/"]}, {"memory_ids": [made["memory"]]}, {"query": "A text.", "memory_tags": ["*"]}
    for body in searches:
        assert body_of(post(cast.admin, "/api/v1/knowledge/search", **body)) == {"results": []}
    tasks.purge_left()
    assert rows_left(cast.project_a.pk) == {}


def test_a_deletion_that_was_cut_off_is_taken_up_again(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = committed_cast
    monkeypatch.setattr("soat.tenancy.deletion.FEW_ROWS", 0)
    monkeypatch.setattr("soat.tenancy.deletion.BATCH_SIZE", 1)
    fill(cast)
    cast.admin.delete(path_of(cast.project_a, "?force=true"))
    with monkeypatch.context() as broken:
        broken.setattr("documents.services.release_bytes", _raise)
        with pytest.raises(RuntimeError):
            tasks.purge(cast.project_a.pk)
    assert Document.objects.filter(project=cast.project_a).count() == 2
    tasks.purge_left()
    assert rows_left(cast.project_a.pk) == {}


def _raise(*args: Any) -> None:
    raise RuntimeError("cut off")


def test_what_takes_a_request_too_long_is_left_to_a_task(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = committed_cast
    fill(cast)
    monkeypatch.setattr("soat.tenancy.projects.REQUEST_SECONDS", 0.0)
    assert cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code == 204
    assert File.objects.filter(project=cast.project_a).count() == 2
    error_of(cast.admin.get(path_of(cast.project_a)), 404, "RESOURCE_NOT_FOUND")
    tasks.purge(cast.project_a.pk)
    assert rows_left(cast.project_a.pk) == {}


def test_a_row_that_somebody_holds_delays_nobody(committed_cast: Cast, settings: Any) -> None:
    cast = committed_cast
    fill(cast)
    settings.LOCK_TIMEOUT_MS = 50
    with holding(Memory.objects.get(project=cast.project_a)):
        assert cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code == 204
        assert Memory.objects.filter(project=cast.project_a).exists()
    tasks.purge_left()
    assert rows_left(cast.project_a.pk) == {}


def test_a_project_that_cannot_go_stops_no_other(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = committed_cast
    monkeypatch.setattr("soat.tenancy.deletion.FEW_ROWS", 0)
    post(cast.b, MEMORIES, name="of B")
    fill(cast)
    for project in (cast.project_a, cast.project_b):
        assert cast.admin.delete(path_of(project, "?force=true")).status_code == 204
    monkeypatch.setattr("documents.services.release_bytes", _raise)
    tasks.purge_left()
    assert not Project.objects.filter(pk=cast.project_b.pk).exists()
    assert Document.objects.filter(project=cast.project_a).exists()


def test_a_project_that_cannot_go_takes_a_task_no_longer_than_its_time(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast = committed_cast
    fill(cast)
    monkeypatch.setattr("soat.tenancy.projects.REQUEST_SECONDS", 0.0)
    monkeypatch.setattr("soat.tenancy.deletion._registered", {})
    assert cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code == 204
    assert not deletion.purge_project(cast.project_a.pk, seconds=0.2)
    assert Project.objects.filter(pk=cast.project_a.pk).exists()


def test_bytes_that_could_not_be_deleted_are_tried_again(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = committed_cast
    fill(cast)
    stored = keys_of(cast.project_a)
    with monkeypatch.context() as broken:
        broken.setattr("soat.files.services.discard_bytes", lambda key: False)
        assert cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code == 204
    assert sorted(ReleasedBytes.objects.values_list("storage_key", flat=True)) == sorted(stored)
    assert all(default_storage.exists(key) for key in stored)
    discard_released()
    assert ReleasedBytes.objects.count() == len(stored), "what was given up just now is still its giver's to delete"
    ReleasedBytes.objects.update(released_at="2020-01-01T00:00:00Z")
    discard_released()
    assert not ReleasedBytes.objects.exists()
    assert not any(default_storage.exists(key) for key in stored)


def test_two_tasks_at_once_do_no_harm(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = committed_cast
    monkeypatch.setattr("soat.tenancy.deletion.FEW_ROWS", 0)
    monkeypatch.setattr("soat.tenancy.deletion.BATCH_SIZE", 1)
    for _ in range(3):
        memory = body_of(post(cast.a, MEMORIES, name="m"), 201)["id"]
        body_of(post(cast.a, ENTRIES, memory_id=memory, content="A fact."), 201)
        body_of(post(cast.a, DOCUMENTS, content="A text."), 201)
    cast.admin.delete(path_of(cast.project_a, "?force=true"))
    at_once([functools.partial(tasks.purge, cast.project_a.pk)] * 4)
    assert rows_left(cast.project_a.pk) == {}
    assert not Project.objects.filter(pk=cast.project_a.pk).exists()


def test_what_comes_in_while_a_project_goes_is_refused_or_goes_too(committed_cast: Cast) -> None:
    cast = committed_cast
    fill(cast)
    memory = Memory.objects.get(project=cast.project_a).public_id
    a = cast.project_a.public_id
    stop = threading.Event()
    statuses: list[int] = []

    def write() -> None:
        while not stop.is_set():
            statuses.append(post(cast.a, MEMORIES, name="late").status_code)
            statuses.append(post(cast.admin, DOCUMENTS, project_id=a, content="late").status_code)
            statuses.append(post(cast.admin, ENTRIES, memory_id=memory, content="late").status_code)
            late = {"project_id": a, "content": "eA==", "filename": f"{len(statuses)}"}
            statuses.append(post(cast.admin, f"{FILES}/upload/base64", **late).status_code)

    def delete() -> int:
        try:
            return int(cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code)
        finally:
            tasks.purge_left()
            stop.set()

    *_, deleted = at_once([write, write, write, delete])
    assert deleted == 204
    assert set(statuses) <= {200, 201, 401, 403, 404, 409, 503}
    tasks.purge_left()
    assert rows_left(cast.project_a.pk) == {}
    assert not Project.objects.filter(pk=cast.project_a.pk).exists()


def test_a_worker_stops_where_a_project_is_being_deleted(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cast = committed_cast
    fill(cast)
    queued = IngestionAttempt.objects.get(state="queued")
    file = body_of(post(cast.a, f"{FILES}/upload/base64", content="eA==", filename="z.txt"), 201)["id"]
    body_of(post(cast.a, f"{DOCUMENTS}/ingest", file_id=file), 202)
    running = claim(IngestionAttempt.objects.exclude(pk=queued.pk).get(state="queued").pk, worker="w")
    assert running is not None
    monkeypatch.setattr("soat.tenancy.projects.REQUEST_SECONDS", 0.0)
    assert cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code == 204
    chunks = DocumentChunk.objects.count()
    ingest(queued.pk)
    queued.refresh_from_db()
    assert (queued.state, DocumentChunk.objects.count()) == ("queued", chunks)
    with pytest.raises(AttemptLost), fenced(running):
        pytest.fail("the attempt counts no more")


def test_a_worker_changes_nothing_in_a_project_that_is_gone(committed_cast: Cast) -> None:
    cast = committed_cast
    fill(cast)
    attempt = IngestionAttempt.objects.get(state="queued")
    assert cast.admin.delete(path_of(cast.project_a, "?force=true")).status_code == 204
    ingest(attempt.pk)
    assert rows_left(cast.project_a.pk) == {}
    assert not DocumentChunk.objects.exists()


def test_who_may_read_a_project_may_not_delete_it_by_that(cast: Cast) -> None:
    client = caller_with(allow("projects:GetProject"))
    error_of(client.delete(path_of(cast.project_a, "?force=true")), 403, "FORBIDDEN")
    error_of(cast.outsider.delete(path_of(cast.project_a, "?force=true")), 404, "RESOURCE_NOT_FOUND")
    error_of(cast.b.delete(path_of(cast.project_a, "?force=true")), 404, "RESOURCE_NOT_FOUND")
    assert Project.objects.count() == 2
