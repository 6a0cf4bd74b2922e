"""The words of stored texts: right on every path, and after every change of a project's configuration."""

import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import Model
from django.db.transaction import TransactionManagementError
from django.test import override_settings

from documents.models import DocumentChunk
from memories.models import Memory, MemoryEntry
from memories.services import IncomingFact, update_entry, write_entry
from soat.audit.models import AuditEvent
from soat.core.errors import NotFound
from soat.engine.lexical import lexical_text
from soat.tenancy import lexeme_refresh, tasks
from soat.tenancy.lexeme_refresh import refresh_batch, request_refresh
from soat.tenancy.models import LexemeRefresh, Project
from soat.tenancy.projects import update_project
from soat.tenancy.text_search import held_text_search_config, text_search_config
from tests.api.answers import body_of, error_of, names_field
from tests.conftest import Cast
from tests.documents.steps import create, ingested, patch, reingest, run_queued
from tests.memories.crowd import PATIENCE, at_once
from tests.memories.rest import ENTRIES, new_memory, write
from tests.tenancy.lexemes import configs_used, vector, wrong_rows

PROJECTS = "/api/v1/projects"
TEXT = "Running runs"


def path_of(project: Project) -> str:
    return f"{PROJECTS}/{project.public_id}"


def set_config(cast: Cast, config: str | None) -> dict[str, Any]:
    record: dict[str, Any] = body_of(
        cast.a.patch(path_of(cast.project_a), {"text_search_config": config}, format="json")
    )
    return record


def fill(cast: Cast, number: int = 1) -> None:
    """Store the text as so many chunks and entries."""
    memory = new_memory(cast.a)["id"]
    for _ in range(number):
        create(cast.a, TEXT)
        write(cast.a, memory, TEXT, force=True)


def refresh(project: Project) -> None:
    while refresh_batch(project.pk) is not None:
        pass


# --- writing -------------------------------------------------------------------------------------


def test_every_path_that_writes_a_text_writes_its_words(cast: Cast) -> None:
    set_config(cast, "english")
    document = create(cast.a, "Ships were sailing to SKU-4711.")
    ingested(cast.a, b"One page.\n\nAnother page with 10.0.0.1", chunk_strategy="size", chunk_size=12, chunk_overlap=3)
    patch(cast.a, f"/api/v1/documents/{document['id']}", {"content": "東京 now"})
    reingest(cast.a, document["id"])
    run_queued()
    memory = new_memory(cast.a)["id"]
    entry = write(cast.a, memory, "She likes running.")
    write(cast.a, memory, "She likes running.")
    body_of(cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": "He liked walking.", "tags": ["x"]}, format="json"))
    body_of(cast.a.put(f"{ENTRIES}/{entry['id']}", {"tags": ["y"]}, format="json"))
    create(cast.b, "Ships of B")
    assert wrong_rows() == []
    assert MemoryEntry.objects.values_list("lexemes", flat=True).get() == vector("He liked walking.", "english")


def test_words_are_not_read_with_their_rows(cast: Cast) -> None:
    fill(cast)
    for rows in (DocumentChunk.objects, MemoryEntry.objects):
        row: Model = rows.get()
        assert row.get_deferred_fields() == {"lexemes"}


def test_edits_of_one_entry_at_once_leave_the_words_of_its_text(committed_cast: Cast) -> None:
    memory = Memory.objects.create(project=committed_cast.project_a, name="m")
    entry = write_entry(memory=memory, fact=IncomingFact("zero")).entry
    edits = [functools.partial(update_entry, entry=entry, changes={"content": f"number {n}"}) for n in range(6)]
    configs = [
        functools.partial(update_project, project=committed_cast.project_a, changes={"text_search_config": config})
        for config in ("english", "simple")
    ]
    acts: list[Callable[[], object]] = [*edits, *configs]
    at_once(acts)
    refresh(committed_cast.project_a)
    assert wrong_rows() == []


def test_a_configuration_is_held_to_the_end_of_a_transaction(committed_cast: Cast) -> None:
    with pytest.raises(TransactionManagementError):
        held_text_search_config(committed_cast.project_a.pk)
    with pytest.raises(NotFound), transaction.atomic():
        held_text_search_config(0)


# --- the project's configuration -----------------------------------------------------------------


def test_a_project_has_one_of_its_own_or_the_deployment_s(cast: Cast) -> None:
    assert text_search_config(cast.project_a) == "simple"
    with override_settings(KNOWLEDGE_TEXT_SEARCH_CONFIG="german"):
        assert text_search_config(cast.project_a) == "german"
    assert text_search_config(Project(text_search_config="english")) == "english"


def test_the_record_names_it_only_where_there_is_one(cast: Cast) -> None:
    plain = {"id", "name", "created_at", "updated_at"}
    none: list[dict[str, Any]] = [{}, {"text_search_config": None}, {"text_search_config": ""}]
    for nothing in none:
        assert set(body_of(cast.admin.post(PROJECTS, {"name": "x", **nothing}, format="json"), 201)) == plain
    made = body_of(cast.admin.post(PROJECTS, {"name": "x", "text_search_config": "english"}, format="json"), 201)
    assert made["text_search_config"] == "english"
    assert body_of(cast.admin.get(f"{PROJECTS}/{made['id']}")) == made
    for empty in (None, ""):
        assert set_config(cast, "german")["text_search_config"] == "german"
        assert set(set_config(cast, empty)) == plain
    assert body_of(cast.a.patch(path_of(cast.project_a), {"name": "y"}, format="json"))["name"] == "y"


@pytest.mark.parametrize("config", ["klingon", "English", " ", 5, ["english"], True])
def test_one_that_is_not_there_is_refused(cast: Cast, config: Any) -> None:
    body = {"name": "x", "text_search_config": config}
    assert names_field(cast.admin.post(PROJECTS, body, format="json"), "text_search_config")
    assert names_field(cast.admin.patch(path_of(cast.project_a), body, format="json"), "text_search_config")


def test_a_foreign_project_s_cannot_be_changed(cast: Cast) -> None:
    for client in (cast.b, cast.outsider):
        answer = client.patch(path_of(cast.project_a), {"text_search_config": "english"}, format="json")
        error_of(answer, 404, "RESOURCE_NOT_FOUND")
    assert not LexemeRefresh.objects.exists()


def test_a_change_is_in_the_audit_trail(cast: Cast) -> None:
    body_of(cast.admin.post(PROJECTS, {"name": "x", "text_search_config": "dutch"}, format="json"), 201)
    assert AuditEvent.objects.latest("id").after == {"name": "x", "text_search_config": "dutch"}
    set_config(cast, "english")
    event = AuditEvent.objects.latest("id")
    assert (event.operation, event.project_id) == ("updateProject", cast.project_a.pk)
    assert (event.before, event.after) == ({"text_search_config": ""}, {"text_search_config": "english"})
    set_config(cast, "english")
    assert AuditEvent.objects.latest("id") == event


# --- taking words anew ---------------------------------------------------------------------------


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexeme_refresh, "ROWS_PER_BATCH", 2)


def test_a_change_has_them_taken_anew(committed_cast: Cast, eager_tasks: None, small_batches: None) -> None:
    fill(committed_cast, 5)
    create(committed_cast.b, TEXT)
    assert configs_used() == {"simple"}
    versions = set(MemoryEntry.objects.values_list("version", "updated_at", "revision"))
    set_config(committed_cast, "english")
    assert wrong_rows() == []
    assert configs_used() == {"simple", "english"}, "project B has its own"
    assert set(MemoryEntry.objects.values_list("version", "updated_at", "revision")) == versions
    assert not LexemeRefresh.objects.exists()


def test_a_new_name_has_nothing_taken_anew(cast: Cast) -> None:
    body_of(cast.a.patch(path_of(cast.project_a), {"name": "y", "text_search_config": ""}, format="json"))
    assert not LexemeRefresh.objects.exists()


def test_what_is_right_is_not_written_again(cast: Cast) -> None:
    fill(cast)
    with connection.cursor() as cursor:
        cursor.execute("SELECT ctid FROM memories_memoryentry UNION ALL SELECT ctid FROM documents_documentchunk")
        before = cursor.fetchall()
        request_refresh(cast.project_a.pk)
        refresh(cast.project_a)
        cursor.execute("SELECT ctid FROM memories_memoryentry UNION ALL SELECT ctid FROM documents_documentchunk")
        assert cursor.fetchall() == before


def test_rows_from_before_are_filled_in_by_the_periodic_task(cast: Cast, small_batches: None) -> None:
    fill(cast, 3)
    DocumentChunk.objects.update(lexemes=None)
    MemoryEntry.objects.update(lexemes=None)
    request_refresh(cast.project_a.pk)
    request_refresh(cast.project_b.pk)
    tasks.refresh_lexemes_left()
    assert wrong_rows() == []
    assert not LexemeRefresh.objects.exists()


def test_it_can_be_broken_off_anywhere_and_delivered_twice(cast: Cast, small_batches: None) -> None:
    fill(cast, 5)
    set_config(cast, "english")
    states = []
    while refresh_batch(cast.project_a.pk) is not None:
        states.append(len(wrong_rows()))
    assert states == sorted(states, reverse=True)
    assert states[:2] == [8, 6], "two at a time"
    assert states[-1] == 0
    tasks.refresh_lexemes(cast.project_a.pk)
    assert wrong_rows() == []


def test_a_task_ends_in_time_and_the_next_goes_on(cast: Cast, small_batches: None) -> None:
    fill(cast, 3)
    set_config(cast, "english")
    lexeme_refresh.refresh_project(cast.project_a.pk, seconds=0)
    assert len(wrong_rows()) == 6
    assert refresh_batch(cast.project_a.pk) == 2
    tasks.refresh_lexemes_left()
    assert wrong_rows() == []


def test_large_texts_make_small_batches(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexeme_refresh, "CHARACTERS_PER_BATCH", len(TEXT) + 1)
    fill(cast, 3)
    request_refresh(cast.project_a.pk)
    counts = list(
        itertools.takewhile(
            lambda rows: rows is not None, iter(functools.partial(refresh_batch, cast.project_a.pk), None)
        )
    )
    assert counts == [1, 1, 1, 0, 1, 1, 1, 0]


def test_two_changes_end_in_the_last_one(cast: Cast, small_batches: None) -> None:
    fill(cast, 4)
    set_config(cast, "english")
    assert refresh_batch(cast.project_a.pk) == 2
    set_config(cast, "")
    refresh(cast.project_a)
    assert configs_used() == {"simple"}
    set_config(cast, "english")
    assert refresh_batch(cast.project_a.pk) == 2
    set_config(cast, "")
    set_config(cast, "english")
    refresh(cast.project_a)
    assert configs_used() == {"english"}


def test_a_row_that_is_edited_while_its_words_are_taken(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(cast)
    set_config(cast, "english")
    entry = MemoryEntry.objects.select_related("memory").get()
    real = lexical_text

    def edited_meanwhile(text: str) -> str:
        update_entry(entry=entry, changes={"content": "Other runners ran"})
        return real(text)

    monkeypatch.setattr(lexeme_refresh, "lexical_text", edited_meanwhile)
    refresh(cast.project_a)
    assert MemoryEntry.objects.get().content == "Other runners ran"
    assert wrong_rows() == []


def test_a_change_between_reading_and_writing_counts(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that began under one configuration writes the words of the one that holds then."""
    fill(cast)
    set_config(cast, "german")
    real = lexical_text
    pending = ["english"]

    def changed_meanwhile(text: str) -> str:
        if pending:
            update_project(project=cast.project_a, changes={"text_search_config": pending.pop()})
        return real(text)

    monkeypatch.setattr(lexeme_refresh, "lexical_text", changed_meanwhile)
    refresh(cast.project_a)
    assert configs_used() == {"english"}


def test_a_change_waits_for_who_is_writing(committed_cast: Cast) -> None:
    """The writer has read the old configuration and is not done: its row must not be missed."""
    cast = committed_cast
    memory = Memory.objects.create(project=cast.project_a, name="m")
    wrote, commit = threading.Event(), threading.Event()

    def slow_writer() -> None:
        with transaction.atomic():
            write_entry(memory=memory, fact=IncomingFact(TEXT))
            wrote.set()
            commit.wait(PATIENCE)

    def change() -> None:
        wrote.wait(PATIENCE)
        threading.Timer(0.3, commit.set).start()
        update_project(project=cast.project_a, changes={"text_search_config": "english"})
        assert commit.is_set()
        refresh(cast.project_a)

    at_once([slow_writer, change])
    assert configs_used() == {"english"}


def test_writers_do_not_wait_for_each_other(committed_cast: Cast) -> None:
    cast = committed_cast
    first, second = (Memory.objects.create(project=cast.project_a, name=name) for name in "ab")
    write_entry(memory=first, fact=IncomingFact("The first one registers the vector space."))
    done = threading.Event()

    def hold() -> bool:
        with transaction.atomic():
            write_entry(memory=first, fact=IncomingFact(TEXT))
            return done.wait(PATIENCE)

    def write_beside() -> bool:
        write_entry(memory=second, fact=IncomingFact(TEXT))
        done.set()
        return True

    assert at_once([hold, write_beside]) == [True, True]


def test_whoever_holds_a_row_is_given_way(committed_cast: Cast) -> None:
    cast = committed_cast
    fill(cast)
    set_config(cast, "english")
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            list(MemoryEntry.objects.select_for_update())
            locked.set()
            release.wait(PATIENCE)

    def try_it() -> None:
        locked.wait(PATIENCE)
        tasks.refresh_lexemes_left()
        assert configs_used() == {"english", "simple"}, "the chunk is done, the entry is held"
        release.set()

    at_once([hold, try_it])
    assert LexemeRefresh.objects.exists()
    tasks.refresh_lexemes_left()
    assert configs_used() == {"english"}


def test_everything_at_once(committed_cast: Cast, small_batches: None) -> None:
    """Writers, editors, changes of the configuration and workers: in the end every row is right."""
    cast = committed_cast
    fill(cast, 4)
    memory = Memory.objects.create(project=cast.project_a, name="m")
    entries = [write_entry(memory=memory, fact=IncomingFact(f"fact {n}", force=True)).entry for n in range(4)]

    def workers() -> None:
        for _ in range(10):
            tasks.refresh_lexemes_left()

    def writer(number: int) -> None:
        for step in range(4):
            write_entry(memory=memory, fact=IncomingFact(f"running {number} {step}", force=True))
            update_entry(entry=entries[number], changes={"content": f"edited runs {number} {step}"})

    def configurer() -> None:
        for config in ("english", "german", "", "english", "", "french"):
            update_project(project=cast.project_a, changes={"text_search_config": config})

    writers = [functools.partial(writer, number) for number in range(4)]
    acts: list[Callable[[], object]] = [workers, workers, configurer, *writers]
    at_once(acts)
    tasks.refresh_lexemes_left()
    assert not LexemeRefresh.objects.exists()
    assert wrong_rows() == []


def test_a_project_that_is_deleted_meanwhile(committed_cast: Cast) -> None:
    cast = committed_cast
    fill(cast, 3)
    set_config(cast, "english")

    def delete() -> None:
        assert cast.admin.delete(f"{path_of(cast.project_a)}?force=true").status_code == 204

    refreshing = functools.partial(tasks.refresh_lexemes, cast.project_a.pk)
    acts: list[Callable[[], object]] = [tasks.refresh_lexemes_left, delete, refreshing]
    at_once(acts)
    assert not LexemeRefresh.objects.exists()
    assert refresh_batch(cast.project_a.pk) is None


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def english_by_default() -> Iterator[None]:
    with override_settings(KNOWLEDGE_TEXT_SEARCH_CONFIG="english"):
        yield


def test_the_command_follows_a_new_default(
    cast: Cast, english_by_default: None, small_batches: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with override_settings(KNOWLEDGE_TEXT_SEARCH_CONFIG="simple"):
        fill(cast, 3)
        create(cast.b, TEXT)
    assert configs_used() == {"simple"}
    call_command("refresh_lexemes", project=cast.project_b.public_id)
    assert len(wrong_rows()) == 6
    call_command("refresh_lexemes")
    assert wrong_rows() == []
    assert configs_used() == {"english"}
    assert capsys.readouterr().out.splitlines() == [
        f"{cast.project_b.public_id}: done, 1 texts",
        f"{cast.project_a.public_id}: done, 6 texts",
        f"{cast.project_b.public_id}: done, 1 texts",
    ]
    assert not LexemeRefresh.objects.exists()


def test_the_command_shows_how_far_it_is(
    cast: Cast, small_batches: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(cast, 2)
    monkeypatch.setattr("soat.tenancy.management.commands.refresh_lexemes.SECONDS_PER_LINE", 0.0)
    call_command("refresh_lexemes", project=cast.project_a.public_id)
    assert f"{cast.project_a.public_id}: 2 of 4 texts" in capsys.readouterr().out


def test_the_command_names_a_project_that_is_not_there(cast: Cast) -> None:
    with pytest.raises(CommandError, match="There is no project proj_nope"):
        call_command("refresh_lexemes", project="proj_nope")
