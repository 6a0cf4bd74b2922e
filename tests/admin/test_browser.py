"""The admin in a real browser: seen, clicked, and without a complaint in its console."""

from collections.abc import Iterator

import pytest
from pytest_django.live_server_helper import LiveServer

from documents.models import Document, IngestionAttempt
from memories.models import EntryVector, MemoryEntry
from tests.admin.browser import Browser, running_browser
from tests.admin.conftest import Desk
from tests.conftest import PASSWORD


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser, live_server: LiveServer) -> Iterator[Browser]:
    """The browser on a fresh server; whatever it complained about fails the test."""
    chromium.base = live_server.url
    chromium.complaints()
    yield chromium
    complaints = chromium.complaints()
    # Nothing may be under way when the tables are emptied.
    chromium.driver.get("about:blank")
    chromium.driver.delete_all_cookies()
    assert complaints == []


def test_wrong_password_then_front_page(browser: Browser, committed_desk: Desk) -> None:
    browser.log_in("root", "not-the-password")
    assert "Please enter the correct username and password" in browser.text()
    browser.shoot("wrong-password")
    browser.log_in("root", PASSWORD)
    text = browser.text()
    for word in ("Overview", "Knowledge", "Access", "System", "Documents by state", "Vector space"):
        assert word in text
    browser.shoot("front-page")
    browser.driver.execute_script("localStorage.setItem('adminTheme', JSON.stringify('dark'))")
    browser.open("/admin/")
    browser.wait(lambda: "dark" in (browser.one("html").get_attribute("class") or ""))
    browser.shoot("front-page-dark")
    browser.driver.execute_script("localStorage.setItem('adminTheme', JSON.stringify('light'))")


def test_document_with_its_bar_and_chunks(browser: Browser, committed_desk: Desk) -> None:
    document, attempt = committed_desk.a.document, committed_desk.a.attempt
    runs = IngestionAttempt.objects.filter(pk=attempt.pk)
    runs.update(state="processing", total_chunks=50, chunk_count=21)
    Document.objects.filter(pk=document.pk).update(status="processing")
    browser.log_in("root", PASSWORD)
    browser.open("/admin/documents/document/")
    browser.click(f"a[href^='/admin/documents/document/{document.pk}/change/']")
    assert "21 of 50 chunks" in browser.one(".soat-live").text
    fill = browser.one(".soat-live .soat-fill")
    track = browser.one(".soat-live .soat-track")
    assert fill.size["width"] == pytest.approx(0.42 * track.size["width"], abs=2)
    browser.shoot("document-processing")
    runs.update(state="ready", chunk_count=50)
    Document.objects.filter(pk=document.pk).update(status="ready")
    browser.wait(lambda: "ready, 50 chunks" in browser.one(".soat-live").text)
    assert browser.one(".soat-live").get_attribute("hx-get") is None
    browser.shoot("document-ready")
    browser.click("section[aria-label=Chunks] tbody a")
    assert "All about the museum." in browser.text()
    assert "384 dimensions, norm 1.00" in browser.text()
    browser.shoot("chunk")
    browser.click(f"a[href='/admin/documents/document/{document.pk}/change/']")
    assert "Runs of ingestion" in browser.text()


def test_edited_fact_is_embedded_again(browser: Browser, committed_desk: Desk) -> None:
    entry = committed_desk.a.entry
    old = list(EntryVector.objects.get(entry=entry).embedding)
    browser.log_in("root", PASSWORD)
    browser.open(f"/admin/memories/memoryentry/{entry.pk}/change/")
    browser.fill("#id_content", "The museum is closed in winter.")
    browser.click("button[name=_continue]")
    assert "was changed successfully" in browser.text()
    assert "384 dimensions, norm 1.00, 1 window" in browser.text()
    browser.shoot("entry")
    assert MemoryEntry.objects.get(pk=entry.pk).content == "The museum is closed in winter."
    assert list(EntryVector.objects.get(entry=entry).embedding) != old
    browser.fill("#id_metadata", "[1]")
    browser.click("button[name=_save]")
    assert "must be a JSON object" in browser.text()
    browser.shoot("entry-refused")


def test_fact_is_added_by_searching_for_its_memory(browser: Browser, committed_desk: Desk) -> None:
    browser.log_in("cora", PASSWORD)
    browser.open("/admin/memories/memoryentry/add/")
    browser.one(".field-memory .select2-selection, .select2-selection").click()
    browser.one(".select2-search__field").send_keys("mem")
    browser.wait(lambda: browser.texts(".select2-results__option") == ["Memory museum"])
    browser.one(".select2-results__option").click()
    browser.fill("#id_content", "The museum has a café.")
    browser.shoot("entry-add")
    browser.click("button[name=_save]")
    assert "was added successfully" in browser.text()
    assert MemoryEntry.objects.get(content="The museum has a café.").memory == committed_desk.a.memory


def test_list_is_filtered_and_an_action_confirmed(browser: Browser, committed_desk: Desk) -> None:
    browser.log_in("root", PASSWORD)
    browser.open("/admin/memories/memoryentry/?q=museum")
    browser.one("input.action-select").click()
    browser.driver.execute_script(
        "const select = document.querySelector('select[name=action]');"
        "select.value = 'delete_selected'; select.dispatchEvent(new Event('change', {bubbles: true}));"
    )
    browser.shoot("entries-selected")
    browser.click("#changelist-actions button[type=submit], button[name=index]")
    assert "Are you sure you want to delete" in browser.text()
    browser.click("form button[type=submit], form input[type=submit]")
    assert "1 memory entry deleted" in browser.text()
    assert not MemoryEntry.objects.filter(pk=committed_desk.a.entry.pk).exists()


def test_curator_sees_the_own_project(browser: Browser, committed_desk: Desk) -> None:
    browser.log_in("cora", PASSWORD)
    text = browser.text()
    assert "Knowledge" in text
    assert "API keys" not in text
    assert "harbour" not in text
    browser.shoot("curator-front-page")
    browser.open("/admin/documents/document/")
    assert "/museum/guide.txt" in browser.text()
    assert "harbour" not in browser.text()
    browser.shoot("curator-documents")
    browser.open(f"/admin/documents/document/{committed_desk.b.document.pk}/change/")
    assert "Perhaps it was deleted?" in browser.text()
    browser.driver.set_window_size(430, 900)
    browser.open("/admin/documents/document/")
    browser.shoot("narrow")
    browser.driver.set_window_size(1400, 1100)
