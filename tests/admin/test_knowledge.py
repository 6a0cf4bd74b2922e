"""What is written in the admin goes through the services: the same rules, the same vectors, errors in the form."""

import io
import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from documents.models import ChunkVector, Document, DocumentStatus
from embeddings.port import EmbeddingUnavailable
from memories.models import EntryVector, Memory, MemoryEntry
from soat.core.errors import NotFound
from soat.files.models import File
from soat.files.services import NewFile, create_file
from tests.admin.conftest import Desk
from tests.admin.test_pages import page
from tests.memories.fakes import FailingEmbedder, use_embedder
from tests.tenancy.lexemes import wrong_rows

ENTRY = {"tags": "", "metadata": ""}


def errors_of(response: Any) -> str:
    """Return the errors of the form that an answer shows again."""
    assert response.status_code == 200
    return json.dumps(response.context["adminform"].form.errors.get_json_data())


def messages_of(response: Any) -> str:
    """Return the messages of a page."""
    return " ".join(str(message) for message in response.context["messages"])


def document_form(document: Document, **changes: Any) -> dict[str, Any]:
    """Return what a browser sends for a document's form."""
    return {
        "path": document.path or "",
        "title": document.title or "",
        "tags": json.dumps(document.tags) if document.tags else "",
        "metadata": json.dumps(document.metadata) if document.metadata else "",
        "chunk_strategy": document.chunk_strategy,
        "chunk_size": document.chunk_size or "",
        "chunk_overlap": document.chunk_overlap or "",
        **changes,
    }


def test_memory_is_created_and_changed(desk: Desk) -> None:
    form = {
        "project": desk.a.project.pk,
        "name": "Cafe\u0301",
        "description": "One\r\ntwo",
        "tags": "vip\r\n\r\n customer ",
    }
    assert desk.admin.post(page(Memory, "add"), form).status_code == 302
    memory = Memory.objects.get(name="Caf\u00e9")
    assert (memory.description, memory.tags) == ("One\ntwo", ["vip", "customer"])
    before = memory.updated_at
    shown = {"name": memory.name, "description": "One\r\ntwo", "tags": "vip\r\ncustomer"}
    desk.admin.post(page(Memory, "change", memory.pk), shown)
    memory.refresh_from_db()
    assert memory.updated_at == before
    desk.admin.post(page(Memory, "change", memory.pk), {**shown, "description": ""})
    memory.refresh_from_db()
    assert memory.description is None
    assert memory.updated_at > before


def test_a_tag_that_the_form_cannot_show_stays(desk: Desk) -> None:
    Memory.objects.filter(pk=desk.a.memory.pk).update(tags=["two\nlines"])
    form = {"name": "Renamed", "description": "", "tags": "two\r\nlines"}
    desk.admin.post(page(Memory, "change", desk.a.memory.pk), form)
    memory = Memory.objects.get(pk=desk.a.memory.pk)
    assert (memory.name, memory.tags) == ("Renamed", ["two\nlines"])


def test_fact_is_written_through_the_funnel(desk: Desk) -> None:
    form = {"memory": desk.a.memory.pk, "content": "  Alice likes tea. ", "tags": "a\nb", "metadata": '{"n": 1}'}
    assert desk.admin.post(page(MemoryEntry, "add"), form).status_code == 302
    entry = MemoryEntry.objects.get(content="Alice likes tea.")
    assert (entry.tags, entry.metadata, entry.project_id) == (["a", "b"], {"n": 1}, desk.a.project.pk)
    assert EntryVector.objects.filter(entry=entry).count() == 1

    again = desk.admin.post(page(MemoryEntry, "add"), form, follow=True)
    assert again.redirect_chain == [(page(MemoryEntry, "change", entry.pk), 302)]
    assert "Nothing was stored" in messages_of(again)
    assert MemoryEntry.objects.filter(content="Alice likes tea.").count() == 1
    desk.admin.post(page(MemoryEntry, "add"), {**form, "force": "on"})
    assert MemoryEntry.objects.filter(content="Alice likes tea.").count() == 2


def test_words_are_written_with_the_text(desk: Desk) -> None:
    form = {"memory": desk.a.memory.pk, "content": "Alice likes tea.", "tags": "", "metadata": ""}
    assert desk.admin.post(page(MemoryEntry, "add"), form).status_code == 302
    entry = MemoryEntry.objects.get(content="Alice likes tea.")
    changed = {"content": "Alice likes juice.", "tags": "", "metadata": ""}
    assert desk.admin.post(page(MemoryEntry, "change", entry.pk), changed).status_code == 302
    entry.refresh_from_db()
    assert entry.content == "Alice likes juice."
    assert wrong_rows() == []


def test_what_cannot_be_stored_is_said_in_the_form(desk: Desk) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"content": " \n "}, "content"),
        ({"content": "x" * 40_000}, "32768"),
        ({"metadata": "[1]"}, "must be a JSON object"),
        ({"metadata": "{"}, "valid JSON"),
        ({"metadata": "[" * 100_000}, "valid JSON"),
        ({"metadata": '{"n": ' + "9" * 5_000 + "}"}, "valid JSON"),
        ({"metadata": '{"n": NaN}'}, "finite"),
        ({"tags": "x" * 300}, "255"),
        ({"memory": 0}, "memory"),
    ]
    before = MemoryEntry.objects.count()
    for change, said in cases:
        form = {"memory": desk.a.memory.pk, "content": "Bob likes tea.", **ENTRY, **change}
        assert said in errors_of(desk.admin.post(page(MemoryEntry, "add"), form)), change
    assert MemoryEntry.objects.count() == before


def test_edited_fact_gets_a_new_vector(desk: Desk) -> None:
    entry = desk.a.entry
    old = EntryVector.objects.get(entry=entry)
    form = {"content": "The museum closes at five.", "tags": "hours", "metadata": ""}
    assert desk.admin.post(page(MemoryEntry, "change", entry.pk), form).status_code == 302
    entry.refresh_from_db()
    new = EntryVector.objects.get(entry=entry)
    assert (entry.content, entry.version) == ("The museum closes at five.", 2)
    assert list(new.embedding) != list(old.embedding)


def test_untouched_fact_stays_as_it_is(desk: Desk) -> None:
    desk.admin.post(
        page(MemoryEntry, "change", desk.a.entry.pk), {"content": desk.a.entry.content, "tags": "hours", "metadata": ""}
    )
    assert MemoryEntry.objects.get(pk=desk.a.entry.pk).version == 1


def test_edits_of_two_people_do_not_undo_each_other(desk: Desk) -> None:
    url = page(MemoryEntry, "change", desk.a.entry.pk)
    opened = desk.admin.get(url).context["adminform"].form.fingerprint()
    theirs = {"content": "The museum opens at ten.", "tags": "hours", "metadata": ""}
    assert desk.curator.post(url, theirs).status_code == 302
    mine = {"content": desk.a.entry.content, "tags": "hours\nnew", "metadata": "", "_seen": opened}
    shown = desk.admin.post(url, mine)
    assert "Somebody else has changed this" in errors_of(shown)
    assert MemoryEntry.objects.get(pk=desk.a.entry.pk).content == "The museum opens at ten."
    again = {**mine, "_seen": shown.context["adminform"].form.fingerprint()}
    assert desk.admin.post(url, again).status_code == 302
    assert MemoryEntry.objects.get(pk=desk.a.entry.pk).tags == ["hours", "new"]


def test_fact_waits_for_its_vector(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = desk.a.entry
    with monkeypatch.context() as patch:
        use_embedder(patch, FailingEmbedder(EmbeddingUnavailable("connection refused")))
        form = {"content": "The museum moves.", "tags": "", "metadata": ""}
        said = desk.admin.post(page(MemoryEntry, "change", entry.pk), form, follow=True)
        assert "waits for its vector" in messages_of(said)
        assert "waiting for its vector" in desk.admin.get(page(MemoryEntry, "change", entry.pk)).content.decode()
        assert "waiting for its vector" in desk.admin.get(page(MemoryEntry, "changelist")).content.decode()
        refused = act(desk.admin, MemoryEntry, "embed_again", [entry.pk])
        assert "gives no answer" in messages_of(refused)
    assert not EntryVector.objects.filter(entry=entry).exists()
    done = act(desk.admin, MemoryEntry, "embed_again", [entry.pk])
    assert "1 memory entry got a vector" in messages_of(done)
    entry.refresh_from_db()
    assert not entry.awaits_vector
    assert EntryVector.objects.filter(entry=entry).exists()


def test_fact_that_is_deleted_meanwhile_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(**values: Any) -> None:
        MemoryEntry.objects.filter(pk=desk.a.entry.pk).delete()
        raise NotFound("There is no such entry.")

    monkeypatch.setattr("memories.services.update_entry", gone)
    form = {"content": "Something else.", "tags": "", "metadata": ""}
    answer = desk.admin.post(page(MemoryEntry, "change", desk.a.entry.pk), form, follow=True)
    assert "exist" in messages_of(answer)


def act(client: Client, model: Any, action: str, keys: list[int], **more: Any) -> Any:
    """Run an action of a list on some rows and follow to the list."""
    form = {"action": action, "_selected_action": keys, "index": "0", **more}
    return client.post(page(model, "changelist"), form, follow=True)


def test_deleting_goes_through_the_services(desk: Desk) -> None:
    a = desk.a
    revision = Memory.objects.get(pk=a.memory.pk).revision
    question = desk.admin.get(page(MemoryEntry, "delete", a.entry.pk))
    assert "Are you sure" in question.content.decode()
    desk.admin.post(page(MemoryEntry, "delete", a.entry.pk), {"post": "yes"})
    assert not MemoryEntry.objects.filter(pk=a.entry.pk).exists()
    assert Memory.objects.get(pk=a.memory.pk).revision == revision + 1
    assert "1 entry" not in desk.admin.get(page(Memory, "delete", a.memory.pk)).content.decode()
    desk.admin.post(page(Memory, "delete", a.memory.pk), {"post": "yes"})
    assert not Memory.objects.filter(pk=a.memory.pk).exists()
    desk.admin.post(page(Document, "delete", a.document.pk), {"post": "yes"})
    assert not File.objects.filter(pk=a.document.file_id).exists()
    assert not ChunkVector.objects.filter(chunk=a.chunk).exists()


def test_a_deleted_fact_does_not_live_on_in_the_log(desk: Desk) -> None:
    desk.admin.post(page(MemoryEntry, "delete", desk.a.entry.pk), {"post": "yes"})
    log = LogEntry.objects.latest("id")
    assert (log.object_repr, log.object_id) == (desk.a.entry.public_id, str(desk.a.entry.pk))


def test_selected_rows_are_deleted_after_a_question(desk: Desk) -> None:
    keys = [desk.a.file.pk, desk.a.document.file_id]
    question = act(desk.admin, File, "delete_selected", keys)
    assert "protected" in question.content.decode()
    question = act(desk.admin, File, "delete_selected", [desk.a.file.pk])
    assert "Are you sure" in question.content.decode()
    done = desk.admin.post(
        page(File, "changelist"),
        {"action": "delete_selected", "_selected_action": keys, "post": "yes"},
        follow=True,
    )
    assert "1 file deleted" in messages_of(done)
    assert "delete it first" in messages_of(done)
    assert list(File.objects.filter(pk__in=keys).values_list("pk", flat=True)) == [desk.a.document.file_id]


def test_an_action_takes_a_bounded_number_of_rows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soat.tenancy.staff.base.MAX_ROWS_PER_ACTION", 1)
    said = act(desk.admin, Document, "ingest_again", [desk.a.document.pk], select_across="1")
    assert "at most 1 rows" in messages_of(said)
    assert Document.objects.get(pk=desk.a.document.pk).current_attempt_id == desk.a.attempt.pk


def test_document_of_a_text(desk: Desk) -> None:
    form = {"project": desk.a.project.pk, "content": "Plain\r\ntext.", "path": "plain.txt", "title": "Plain", **ENTRY}
    assert desk.admin.post(page(Document, "add"), form).status_code == 302
    document = Document.objects.get(title="Plain")
    assert (document.path, document.status) == ("/plain.txt", DocumentStatus.READY)
    assert ChunkVector.objects.filter(chunk__document=document).count() == 1


def test_document_of_an_upload(desk: Desk) -> None:
    upload = SimpleUploadedFile("notes.md", b"# Notes\n\nThe crane is red.", content_type="text/markdown")
    form = {"project": desk.a.project.pk, "upload": upload, "path": "/in/notes.md", "title": "Notes", **ENTRY}
    assert desk.admin.post(page(Document, "add"), form).status_code == 302
    document = Document.objects.select_related("file", "current_attempt").get(title="Notes")
    assert (document.path, document.file.path, document.status) == ("/in/notes.md", "/in/notes.md", "pending")
    assert "waiting for a worker, run 1" in desk.admin.get(page(Document, "change", document.pk)).content.decode()


def test_document_of_a_stored_file(desk: Desk) -> None:
    file = desk.a.file
    form = {"project": desk.a.project.pk, "file": file.pk, "title": "", **ENTRY}
    assert desk.admin.post(page(Document, "add"), form).status_code == 302
    assert Document.objects.get(file=file).path == file.path
    again = desk.admin.post(page(Document, "add"), form)
    assert "ingested already" in errors_of(again)


def test_upload_that_no_reader_takes_leaves_nothing(desk: Desk) -> None:
    before = File.objects.count()
    upload = SimpleUploadedFile("image.png", b"png", content_type="image/png")
    answer = desk.admin.post(page(Document, "add"), {"project": desk.a.project.pk, "upload": upload, **ENTRY})
    assert "no reader" in errors_of(answer)
    assert File.objects.count() == before


def test_document_that_cannot_be_made_is_said_in_the_form(desk: Desk) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "one of the three"),
        ({"content": "x", "upload": SimpleUploadedFile("a.txt", b"a")}, "one of the three"),
        ({"content": "x", "path": "/museum/guide.txt"}, "is taken"),
        ({"content": "x", "path": "/"}, "not the root"),
        ({"content": "x", "chunk_strategy": "size", "chunk_size": 10, "chunk_overlap": 10}, "chunk_overlap"),
        ({"content": "x", "tags": '{"a": 1}'}, "strings"),
    ]
    before = Document.objects.count(), File.objects.count()
    for form, said in cases:
        answer = desk.admin.post(page(Document, "add"), {"project": desk.a.project.pk, **ENTRY, **form})
        assert said in errors_of(answer), form
    assert (Document.objects.count(), File.objects.count()) == before


def test_file_of_another_project_makes_no_document(desk: Desk) -> None:
    form = {"project": desk.a.project.pk, "file": desk.b.file.pk, **ENTRY}
    assert "another project" in errors_of(desk.admin.post(page(Document, "add"), form))


def test_document_is_changed_through_its_service(desk: Desk) -> None:
    document = desk.a.document
    changed = document_form(document, path="moved.txt", title="", tags='{"team": "sales"}')
    assert desk.admin.post(page(Document, "change", document.pk), changed).status_code == 302
    fresh = Document.objects.select_related("file").get(pk=document.pk)
    assert (fresh.path, fresh.title, fresh.tags, fresh.metadata) == ("/moved.txt", None, {"team": "sales"}, {"n": 1})
    assert fresh.file.path == "/moved.txt"
    assert fresh.current_attempt_id == desk.a.attempt.pk
    other = Document.objects.create(
        project=desk.a.project, file=desk.a.file, path="/other.txt", chunk_strategy="whole", status="pending"
    )
    taken = desk.admin.post(page(Document, "change", document.pk), document_form(fresh, path=other.path))
    assert "is taken" in errors_of(taken)


def test_other_chunk_values_ingest_again(desk: Desk) -> None:
    document = desk.a.document
    form = document_form(document, chunk_strategy="size", chunk_size="100", chunk_overlap="10")
    said = desk.admin.post(page(Document, "change", document.pk), form, follow=True)
    assert "ingested again" in messages_of(said)
    fresh = Document.objects.select_related("current_attempt").get(pk=document.pk)
    assert fresh.current_attempt is not None
    assert (fresh.current_attempt.number, fresh.current_attempt.chunk_size) == (2, 100)
    assert fresh.settled_attempt_id == desk.a.attempt.pk


def test_ingest_again_from_page_and_list(desk: Desk) -> None:
    document = desk.a.document
    form = document_form(document, documents_document_save_and_ingest="1")
    answer = desk.admin.post(page(Document, "change", document.pk), form)
    assert answer.headers["Location"] == page(Document, "change", document.pk)
    assert document.attempts.count() == 2
    said = act(desk.admin, Document, "ingest_again", [document.pk])
    assert "1 document queued" in messages_of(said)
    assert document.attempts.count() == 3


def test_bar_shows_state_and_reason(desk: Desk) -> None:
    document, attempt = desk.a.document, desk.a.attempt
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"state": "processing", "total_chunks": 50, "chunk_count": 21}, "processing", "42 %, 21 of 50 chunks, run 1"),
        ({"state": "processing", "total_chunks": None}, "processing", "reading the file, run 1"),
        ({"state": "failed", "error": "FILE_PARSE_FAILED"}, "failed", "failed: FILE_PARSE_FAILED, run 1"),
        ({"state": "ready", "chunk_count": 1}, "ready", "ready, 1 chunk, run 1"),
    ]
    for values, status, text in cases:
        type(attempt).objects.filter(pk=attempt.pk).update(**values)
        Document.objects.filter(pk=document.pk).update(status=status)
        for url in (
            page(Document, "changelist"),
            page(Document, "change", document.pk),
            page(type(attempt), "changelist"),
        ):
            assert text in desk.admin.get(url).content.decode(), (url, text)
        bar = desk.admin.get(f"/admin/documents/document/{document.pk}/progress/").content.decode()
        assert text in bar
        assert ("hx-get" in bar) == (status == "processing")


def test_file_is_uploaded_and_downloaded(desk: Desk) -> None:
    upload = SimpleUploadedFile("Größe.txt", "größe".encode(), content_type="text/plain")
    form = {"project": desk.a.project.pk, "upload": upload, "prefix": "in", "filename": "", "metadata": "m"}
    assert desk.admin.post(page(File, "add"), form).status_code == 302
    file = File.objects.get(path="/in/Größe.txt")
    assert (file.size, file.metadata, file.content_type) == (7, "m", "text/plain")
    answer: Any = desk.admin.get(f"/admin/files/file/{file.pk}/download/")
    assert b"".join(answer.streaming_content) == "größe".encode()
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    upload.seek(0)
    assert "is taken" in errors_of(desk.admin.post(page(File, "add"), {**form, "upload": upload}))


def test_file_that_is_too_large_or_has_no_good_name_is_refused(desk: Desk, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 3
    form = {"project": desk.a.project.pk, "upload": SimpleUploadedFile("a.txt", b"abcd")}
    assert "at most 3 bytes" in errors_of(desk.admin.post(page(File, "add"), form))
    form = {"project": desk.a.project.pk, "upload": SimpleUploadedFile("a.txt", b"a"), "filename": "a/b"}
    assert "file name" in errors_of(desk.admin.post(page(File, "add"), form))


def test_bytes_that_are_gone_are_said(desk: Desk) -> None:
    File.objects.filter(pk=desk.a.file.pk).update(storage_key="nowhere/nothing")
    answer = desk.admin.get(f"/admin/files/file/{desk.a.file.pk}/download/", follow=True)
    assert "are gone" in messages_of(answer)


def test_file_with_a_document_is_not_deleted(desk: Desk) -> None:
    url = page(File, "delete", desk.a.document.file_id)
    assert "document" in desk.admin.get(url).content.decode()
    desk.admin.post(url, {"post": "yes"})
    assert File.objects.filter(pk=desk.a.document.file_id).exists()
    free = create_file(
        project=desk.a.project,
        new=NewFile(prefix="/", filename="x", path=None, content_type="text/plain"),
        source=io.BytesIO(b"x"),
        size=1,
    )
    desk.admin.post(page(File, "delete", free.pk), {"post": "yes"})
    assert not File.objects.filter(pk=free.pk).exists()
