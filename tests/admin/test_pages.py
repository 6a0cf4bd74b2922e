"""Every page of every model answers, with a number of queries that does not depend on the rows."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from documents.models import Document, DocumentChunk, DocumentPage, IngestionAttempt
from embeddings.models import EmbeddingSpace, StoredVector
from memories.models import Memory, MemoryEntry
from memories.services import IncomingFact, write_entry
from soat.audit.models import AuditEvent
from soat.files.models import File, ReleasedBytes, UploadToken
from soat.tenancy.models import ApiKey, LexemeRefresh, LoginAttempts, Policy, Project, ProjectMembership, User
from tests.admin.conftest import Desk
from tests.tenancy.policies import allow, policy

MAX_QUERIES = 20

OBJECTS: dict[type[Model], Callable[[Desk], Model]] = {
    User: lambda desk: desk.curator_user,
    Group: lambda desk: Group.objects.get(name="curators"),
    Project: lambda desk: desk.a.project,
    ApiKey: lambda desk: desk.a.key,
    AuditEvent: lambda desk: AuditEvent.objects.create(at=timezone.now(), after={"name": "x"}),
    Policy: lambda desk: policy(allow("memories:*")),
    File: lambda desk: desk.a.file,
    EmbeddingSpace: lambda desk: EmbeddingSpace.objects.get(is_current=True),
    Document: lambda desk: desk.a.document,
    IngestionAttempt: lambda desk: desk.a.attempt,
    DocumentPage: lambda desk: desk.a.page,
    DocumentChunk: lambda desk: desk.a.chunk,
    Memory: lambda desk: desk.a.memory,
    MemoryEntry: lambda desk: desk.a.entry,
}
READ_ONLY: list[type[Model]] = [AuditEvent, EmbeddingSpace, IngestionAttempt, DocumentPage, DocumentChunk]
FILTERS = [
    (User, "role__exact=admin"),
    (User, "is_staff__exact=1"),
    (ApiKey, "project__id__exact={project}"),
    (File, "project__id__exact={project}"),
    (File, "tag=x"),
    (Document, "status__exact=ready"),
    (Document, "chunk_strategy__exact=page"),
    (Document, "tag=team%3Dlegal"),
    (Document, "tag=team"),
    (Document, "project__id__exact={project}"),
    (IngestionAttempt, "state__exact=ready"),
    (IngestionAttempt, "document__id__exact={document}"),
    (DocumentPage, "attempt__document__id__exact={document}&counts=yes"),
    (DocumentPage, "attempt__document__id__exact={document}&q=museum"),
    (DocumentPage, "counts=no"),
    (DocumentChunk, "document__id__exact={document}&counts=yes&q=museum"),
    (DocumentChunk, "waiting=yes"),
    (DocumentChunk, "counts=no"),
    (Memory, "project__id__exact={project}"),
    (Memory, "tag=topic"),
    (MemoryEntry, "memory__id__exact={memory}"),
    (MemoryEntry, "valid=yes&waiting=no&source_type__exact=manual&tag=hours"),
    (MemoryEntry, "valid=nonsense&tag="),
]


def page(model: type[Model], name: str, *args: object) -> str:
    """Return the address of one of a model's pages."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


def counted(client: Client, url: str) -> tuple[Any, int]:
    """Return the answer and the number of queries that it took."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(url)
    return response, len(queries)


def test_every_model_is_in_the_admin() -> None:
    elsewhere = {LogEntry, Permission, ContentType, Session, ProjectMembership}
    elsewhere |= {ReleasedBytes, UploadToken, LoginAttempts, LexemeRefresh}
    ours = {
        model
        for model in apps.get_models()
        if not issubclass(model, StoredVector) and model not in elsewhere and not model._meta.auto_created
    }
    assert set(admin.site._registry) == ours == set(OBJECTS)


@pytest.mark.parametrize("model", OBJECTS, ids=lambda model: model.__name__)
def test_pages_of_a_model_answer(desk: Desk, model: type[Model]) -> None:
    obj = OBJECTS[model](desk)
    urls = [
        page(model, "changelist"),
        f"{page(model, 'changelist')}?o=1",
        f"{page(model, 'changelist')}?q=museum",
        f"{page(model, 'changelist')}?q={getattr(obj, 'public_id', 'nothing')}",
        f"{page(model, 'changelist')}?q=%00",
        page(model, "change", obj.pk),
        page(model, "history", obj.pk),
    ]
    if model not in READ_ONLY:
        urls += [page(model, "add"), page(model, "delete", obj.pk)]
    for url in urls:
        response, queries = counted(desk.admin, url)
        assert response.status_code == 200, url
        assert queries <= MAX_QUERIES, url


@pytest.mark.parametrize("model", READ_ONLY, ids=lambda model: model.__name__)
def test_what_the_server_writes_is_looked_at_only(desk: Desk, model: type[Model]) -> None:
    obj = OBJECTS[model](desk)
    assert desk.admin.get(page(model, "add")).status_code == 403
    assert desk.admin.post(page(model, "delete", obj.pk), {"post": "yes"}).status_code == 403
    assert desk.admin.post(page(model, "change", obj.pk), {"text": "x"}).status_code == 403
    assert model._default_manager.filter(pk=obj.pk).exists()


def test_filters_answer(desk: Desk) -> None:
    a = desk.a
    for model, query in FILTERS:
        narrowed = query.format(project=a.project.pk, memory=a.memory.pk, document=a.document.pk)
        response, queries = counted(desk.admin, f"{page(model, 'changelist')}?{narrowed}")
        assert response.status_code == 200, narrowed
        assert queries <= MAX_QUERIES, narrowed


def test_search_finds_every_word(desk: Desk) -> None:
    cases: list[tuple[type[Model], str, int]] = [
        (MemoryEntry, "museum nine", 1),
        (MemoryEntry, "museum harbour", 0),
        (MemoryEntry, "100%", 0),
        (Memory, "MEMORY mus", 1),
        (Document, "museum/gui", 1),
        (Document, "guide", 2),
        (File, "harbour.txt", 1),
        (DocumentChunk, "museum", 0),
        (Project, "project", 2),
        (User, "cora", 1),
    ]
    for model, word, found in cases:
        response = desk.admin.get(page(model, "changelist"), {"q": word})
        assert response.context["cl"].result_count == found, (model, word)


def test_an_id_finds_what_belongs_to_it(desk: Desk) -> None:
    a = desk.a
    expected = [
        (MemoryEntry, a.entry.public_id, a.entry),
        (MemoryEntry, a.memory.public_id, a.entry),
        (MemoryEntry, a.project.public_id, a.entry),
        (DocumentChunk, a.document.public_id, a.chunk),
        (DocumentPage, a.document.public_id, a.page),
        (Document, a.document.file.public_id, a.document),
    ]
    for model, public_id, obj in expected:
        response = desk.admin.get(page(model, "changelist"), {"q": public_id})
        assert list(response.context["cl"].result_list) == [obj], (model, public_id)


def test_a_longer_list_takes_no_more_queries(desk: Desk) -> None:
    for model in (Memory, MemoryEntry, Document, DocumentChunk, DocumentPage, IngestionAttempt, File):
        narrowed, one = counted(desk.admin, f"{page(model, 'changelist')}?q={desk.a.project.public_id}")
        everything, more = counted(desk.admin, page(model, "changelist"))
        assert narrowed.context["cl"].result_count < everything.context["cl"].result_count
        assert more == one, model


def test_wrong_parameters_are_no_crash(desk: Desk) -> None:
    entries = page(MemoryEntry, "changelist")
    for query in (
        "memory__id__exact=x",
        "p=99",
        "p=x",
        "nonsense=1",
        "tag=%00",
        "o=99",
        "memory__id__exact=99999999999999999999",
    ):
        assert desk.admin.get(f"{entries}?{query}").status_code in {200, 302}, query
    for key in ("0", "x", "99999999999999999999", "%00"):
        assert desk.admin.get(f"/admin/memories/memoryentry/{key}/change/").status_code in {302, 404}, key
    assert desk.admin.get("/admin/files/file/0/download/").status_code == 302
    assert desk.admin.get("/admin/documents/document/0/progress/").status_code == 404


def test_no_page_reads_a_vector(desk: Desk) -> None:
    for model, obj in ((MemoryEntry, desk.a.entry), (DocumentChunk, desk.a.chunk)):
        with CaptureQueriesContext(connection) as queries:
            response = desk.admin.get(page(model, "change", obj.pk))
        assert "384 dimensions, norm 1.00, 1 window" in response.content.decode()
        assert "all-MiniLM-L6-v2" in response.content.decode()
        columns = [query["sql"].split(" FROM ")[0] for query in queries]
        assert not any('"embedding",' in column or column.endswith('"embedding"') for column in columns)


def test_times_are_in_utc(desk: Desk) -> None:
    content = desk.admin.get(page(Memory, "change", desk.a.memory.pk)).content.decode()
    assert f"{desk.a.memory.created_at:%Y-%m-%d %H:%M:%S} UTC" in content


def test_links_lead_from_document_to_chunk_and_back(desk: Desk) -> None:
    a = desk.a
    document = desk.admin.get(page(Document, "change", a.document.pk)).content.decode()
    for target in (a.page, a.chunk, a.attempt, a.document.file):
        assert page(type(target), "change", target.pk) in document
    chunk = desk.admin.get(page(DocumentChunk, "change", a.chunk.pk)).content.decode()
    assert page(Document, "change", a.document.pk) in chunk
    assert page(DocumentPage, "change", a.page.pk) in chunk
    read = desk.admin.get(page(DocumentPage, "change", a.page.pk)).content.decode()
    assert page(DocumentChunk, "change", a.chunk.pk) in read
    assert page(Document, "change", a.document.pk) in read


def test_lists_do_not_count_further_than_they_can_show(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soat.tenancy.staff.pages.BoundedPaginator.reach", 2)
    for number in range(3):
        write_entry(memory=desk.a.memory, fact=IncomingFact(content=f"Room {number} is closed.", force=True))
    response = desk.admin.get(page(MemoryEntry, "changelist"))
    assert response.context["cl"].result_count == 2
    assert "the newest of more than 2 memory entries" in response.content.decode()
    shown = [entry.content for entry in response.context["cl"].result_list]
    assert shown == ["Room 2 is closed.", "Room 1 is closed."]
