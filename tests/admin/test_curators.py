"""A curator of project A meets rows of project B on every way in: they are as unknown as rows that are not there."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db.models import Model
from django.test import Client

from documents.models import Document, DocumentChunk, DocumentPage, IngestionAttempt
from memories.models import Memory, MemoryEntry
from soat.files.models import File
from soat.tenancy import deletion
from soat.tenancy.models import ApiKey, Project, ProjectMembership, Role, User
from tests.admin.conftest import Desk, Knowledge, curators
from tests.admin.test_knowledge import act, document_form, errors_of, messages_of
from tests.admin.test_pages import OBJECTS, page

OWN: dict[type[Model], str] = {
    Memory: "memory",
    MemoryEntry: "entry",
    Document: "document",
    File: "file",
    IngestionAttempt: "attempt",
    DocumentPage: "page",
    DocumentChunk: "chunk",
}
EDITED: dict[type[Model], dict[str, str]] = {
    Memory: {"name": "Stolen", "description": "", "tags": ""},
    MemoryEntry: {"content": "Stolen.", "tags": "", "metadata": ""},
}
CLOSED = sorted(set(OBJECTS) - set(OWN), key=lambda model: model.__name__)


def row(knowledge: Knowledge, model: type[Model]) -> Any:
    """Return a project's row of a model."""
    return getattr(knowledge, OWN[model])


def test_group_has_exactly_these_rights(db: None) -> None:
    Group.objects.filter(name="curators").delete()
    granted = {f"{right.content_type.app_label}.{right.codename}" for right in curators().permissions.all()}
    everything = {
        f"{app}.{action}_{model}"
        for app, model in (
            ("memories", "memory"),
            ("memories", "memoryentry"),
            ("documents", "document"),
            ("files", "file"),
        )
        for action in ("view", "add", "change", "delete")
    }
    seen = {"documents.view_documentpage", "documents.view_documentchunk", "documents.view_ingestionattempt"}
    assert granted == everything | seen


@pytest.mark.parametrize("model", OWN, ids=lambda model: model.__name__)
def test_only_own_rows_are_seen(desk: Desk, model: type[Model]) -> None:
    own, other = row(desk.a, model), row(desk.b, model)
    listed = list(desk.curator.get(page(model, "changelist")).context["cl"].result_list)
    assert own in listed
    assert other not in listed
    assert desk.curator.get(page(model, "change", own.pk)).status_code == 200
    for query in (
        f"q={getattr(other, 'public_id', 'harbour')}",
        "q=harbour",
        f"id__exact={other.pk}",
        f"project__id__exact={desk.b.project.pk}",
    ):
        answer = desk.curator.get(f"{page(model, 'changelist')}?{query}")
        if answer.status_code == 200:
            assert not list(answer.context["cl"].result_list), query
            assert "Project B" not in answer.content.decode(), query
    unknown = desk.curator.get(page(model, "change", 999_999), follow=True)
    for name in ("change", "history", "delete"):
        answer = desk.curator.get(page(model, name, other.pk), follow=True)
        if name != "delete" or model in (Memory, MemoryEntry, Document, File):
            assert answer.redirect_chain == unknown.redirect_chain, name
            assert messages_of(answer) == messages_of(unknown).replace("999999", str(other.pk)), name
        assert "harbour" not in answer.content.decode()


@pytest.mark.parametrize("model", EDITED, ids=lambda model: model.__name__)
def test_rows_of_others_are_not_changed(desk: Desk, model: type[Model]) -> None:
    other = row(desk.b, model)
    before = model._default_manager.filter(pk=other.pk).values().get()
    assert desk.curator.post(page(model, "change", other.pk), EDITED[model]).status_code == 302
    assert model._default_manager.filter(pk=other.pk).values().get() == before


def test_documents_of_others_are_not_changed(desk: Desk) -> None:
    document = desk.b.document
    form = document_form(document, title="Stolen", documents_document_save_and_ingest="1")
    assert desk.curator.post(page(Document, "change", document.pk), form).status_code == 302
    fresh = Document.objects.get(pk=document.pk)
    assert (fresh.title, fresh.current_attempt_id) == (document.title, document.current_attempt_id)


@pytest.mark.parametrize("model", [Memory, MemoryEntry, Document, File], ids=lambda model: model.__name__)
def test_rows_of_others_are_not_deleted(desk: Desk, model: type[Model]) -> None:
    other = row(desk.b, model)
    assert desk.curator.post(page(model, "delete", other.pk), {"post": "yes"}).status_code == 302
    act(desk.curator, model, "delete_selected", [other.pk], post="yes")
    form = {"action": "delete_selected", "_selected_action": [other.pk], "post": "yes", "select_across": "1"}
    desk.curator.post(page(model, "changelist"), form)
    assert model._default_manager.filter(pk=other.pk).exists()


def test_actions_reach_own_rows_only(desk: Desk) -> None:
    keys = [desk.a.document.pk, desk.b.document.pk]
    assert "1 document queued" in messages_of(act(desk.curator, Document, "ingest_again", keys))
    assert desk.b.document.attempts.count() == 1
    MemoryEntry.objects.update(awaits_vector=True)
    act(desk.curator, MemoryEntry, "embed_again", [desk.a.entry.pk, desk.b.entry.pk])
    assert list(MemoryEntry.objects.filter(awaits_vector=True)) == [desk.b.entry]


def choices(client: Client, field: str, term: str = "") -> Any:
    """Ask for the choices of a form field, named ``app.model.field``."""
    app, model, name = field.split(".")
    return client.get("/admin/autocomplete/", {"app_label": app, "model_name": model, "field_name": name, "term": term})


def test_choices_are_own_rows(desk: Desk) -> None:
    fields = (
        "memories.memoryentry.memory",
        "memories.memory.project",
        "documents.document.project",
        "documents.document.file",
        "documents.documentchunk.document",
        "documents.ingestionattempt.document",
        "documents.documentchunk.project",
        "files.file.project",
    )
    terms = (("", True), ("harbour", False), ("Project B", False), (desk.b.project.public_id, False))
    for field in fields:
        for term, found in terms:
            texts = [result["text"] for result in choices(desk.curator, field, term).json()["results"]]
            assert bool(texts) == found, (field, term)
            assert not any("harbour" in text or text == "Project B" for text in texts), (field, term)


def test_choices_of_what_is_closed_are_closed(desk: Desk) -> None:
    for field in ("tenancy.apikey.user", "tenancy.user.groups", "memories.entryvector.space", "admin.logentry.user"):
        assert choices(desk.curator, field).status_code == 403, field


def test_nothing_is_added_to_projects_of_others(desk: Desk) -> None:
    b = desk.b
    before = (Memory.objects.count(), MemoryEntry.objects.count(), Document.objects.count(), File.objects.count())
    refused: list[tuple[type[Model], dict[str, Any]]] = [
        (MemoryEntry, {"memory": b.memory.pk, "content": "Stolen.", "tags": "", "metadata": ""}),
        (Memory, {"project": b.project.pk, "name": "Stolen", "tags": ""}),
        (Document, {"project": b.project.pk, "content": "Stolen."}),
        (Document, {"project": desk.a.project.pk, "file": b.file.pk}),
        (File, {"project": b.project.pk, "filename": "x"}),
    ]
    for model, form in refused:
        assert "valid choice" in errors_of(desk.curator.post(page(model, "add"), form)), (model, form)
        shown = desk.curator.get(
            page(model, "add"), {name: form.get(name, "") for name in ("memory", "project", "file")}
        )
        assert "harbour" not in shown.content.decode()
        assert "Project B" not in shown.content.decode()
    assert (
        Memory.objects.count(),
        MemoryEntry.objects.count(),
        Document.objects.count(),
        File.objects.count(),
    ) == before


def test_the_only_project_is_chosen_already(desk: Desk) -> None:
    assert "Project A" in desk.curator.get(page(Memory, "add")).content.decode()


def test_downloads_and_bars_of_others_are_unknown(desk: Desk) -> None:
    own, other = desk.a, desk.b
    allowed: Any = desk.curator.get(f"/admin/files/file/{own.file.pk}/download/")
    assert b"".join(allowed.streaming_content) == b"museum"
    answer = desk.curator.get(f"/admin/files/file/{other.file.pk}/download/", follow=True)
    assert answer.redirect_chain == [("/admin/", 302)]
    assert "harbour" not in answer.content.decode()
    assert desk.curator.get(f"/admin/documents/document/{own.document.pk}/progress/").status_code == 200
    assert desk.curator.get(f"/admin/documents/document/{other.document.pk}/progress/").status_code == 404


@pytest.mark.parametrize("model", CLOSED, ids=lambda model: model.__name__)
def test_users_keys_and_settings_are_closed(desk: Desk, model: type[Model]) -> None:
    obj = OBJECTS[model](desk)
    urls = [page(model, "changelist"), page(model, "add")]
    urls += [page(model, name, obj.pk) for name in ("change", "history", "delete")]
    for url in urls:
        assert desk.curator.get(url).status_code in {302, 403}, url
        assert desk.curator.post(url, {"name": "x", "post": "yes"}).status_code in {302, 403}, url
    assert model._default_manager.filter(pk=obj.pk).exists()


def test_no_group_opens_users_keys_or_projects(desk: Desk) -> None:
    group = Group.objects.create(name="too much")
    permissions = Group.permissions.field.related_model.objects  # type: ignore[attr-defined]
    group.permissions.set(permissions.filter(content_type__app_label__in=["tenancy", "auth", "embeddings"]))
    desk.curator_user.groups.add(group)
    for model in CLOSED:
        assert desk.curator.get(page(model, "changelist")).status_code == 403, model


def test_curators_work_in_their_project(desk: Desk) -> None:
    form = {"memory": desk.a.memory.pk, "content": "Entry is free on Mondays.", "tags": "", "metadata": ""}
    assert desk.curator.post(page(MemoryEntry, "add"), form).status_code == 302
    edited = {"content": "The museum opens at ten.", "tags": "", "metadata": ""}
    assert desk.curator.post(page(MemoryEntry, "change", desk.a.entry.pk), edited).status_code == 302
    assert MemoryEntry.objects.get(pk=desk.a.entry.pk).content == "The museum opens at ten."
    document = desk.a.document
    changed = document_form(document, title="Better")
    assert desk.curator.post(page(Document, "change", document.pk), changed).status_code == 302
    assert Document.objects.get(pk=document.pk).title == "Better"


def test_side_bar_and_front_page_are_bounded(desk: Desk) -> None:
    answer = desk.curator.get("/admin/")
    content = answer.content.decode()
    assert "harbour" not in content
    for model in OWN:
        assert f'href="{page(model, "changelist")}"' in content
    for model in CLOSED:
        assert page(model, "changelist") not in content
    numbers = {number.title: number.value for number in answer.context["numbers"]}
    assert (numbers["Documents"], numbers["Files"], numbers["Valid entries"]) == ("1", "2", "1")
    assert answer.context["space"] is None


def test_a_project_that_is_taken_away_is_gone_at_once(desk: Desk) -> None:
    ProjectMembership.objects.filter(user=desk.curator_user).delete()
    assert not list(desk.curator.get(page(Memory, "changelist")).context["cl"].result_list)
    assert desk.curator.get(page(Memory, "change", desk.a.memory.pk)).status_code == 302


def test_a_project_that_is_being_deleted_is_gone_at_once(desk: Desk) -> None:
    deletion.mark_project_deleted(project=desk.a.project)
    assert not list(desk.curator.get(page(Memory, "changelist")).context["cl"].result_list)
    assert list(desk.admin.get(page(Project, "changelist")).context["cl"].result_list) == [desk.b.project]
    assert desk.admin.get(page(Project, "change", desk.a.project.pk)).status_code == 302


def test_two_projects_are_both_seen(desk: Desk) -> None:
    ProjectMembership.objects.create(user=desk.curator_user, project=desk.b.project)
    seen = set(desk.curator.get(page(Memory, "changelist")).context["cl"].result_list)
    assert seen == {desk.a.memory, desk.b.memory}


def test_rights_without_a_project_show_nothing(desk: Desk) -> None:
    user = User.objects.create_user("nina", None, Role.USER, is_staff=True)
    user.groups.add(Group.objects.get(name="curators"))
    client = Client()
    client.force_login(user)
    for model in OWN:
        assert not list(client.get(page(model, "changelist")).context["cl"].result_list)
    assert client.get(page(ApiKey, "changelist")).status_code == 403
    assert client.get(page(Project, "changelist")).status_code == 403
