"""What the demo says when an answer is not the one that it expects."""

import io
import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from soat.standalone.demo.errors import DemoError
from soat.standalone.demo.script import Fact, Question, Script
from soat.standalone.demo.server import Server
from soat.standalone.demo.story import Story
from soat.standalone.demo.terminal import Terminal

READY = {"status": "ready", "chunk_count": 1, "total_chunks": 1, "total_pages": 1, "error": None}
ANSWERS: dict[str, dict[str, Any]] = {
    "/users/login": {"token": "jwt"},
    "/projects": {"id": "proj_1"},
    "/api-keys": {"key": "sk_1"},
    "/files/upload": {"id": "file_1", "size": 3},
    "/documents/ingest": {"id": "doc_1"},
    "/documents/doc_1/status": READY,
    "/memories": {"id": "mem_1", "name": "Notes"},
    "/memory-entries": {"id": "mem_entry_1", "action": "created", "reason": "no_candidate"},
    "/knowledge/search": {
        "results": [{"source_type": "document", "path": "/a.pdf", "page": 2, "content": "the answer", "score": 0.5}]
    },
}


class Scripted(HTTPServer):
    """A server that gives prepared answers; one that it lacks is a 500."""

    answers: dict[str, dict[str, Any]]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def do_GET(self) -> None:
        assert isinstance(self.server, Scripted)
        answer = self.server.answers.get(self.path.removeprefix("/api/v1"))
        self.send_response(200 if answer else 500)
        self.end_headers()
        self.wfile.write(json.dumps(answer or {"error": {"code": "INTERNAL_ERROR"}}).encode())

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  (the name that is overridden)
        """Say nothing."""


@pytest.fixture
def server() -> Generator[Scripted]:
    scripted = Scripted(("127.0.0.1", 0), Handler)
    scripted.answers = dict(ANSWERS)
    thread = threading.Thread(target=scripted.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield scripted
    scripted.shutdown()
    scripted.server_close()
    thread.join()


@pytest.fixture
def story(tmp_path: Path) -> Story:
    document = tmp_path / "a.pdf"
    document.write_bytes(b"pdf")
    script = Script(
        document=document,
        memory={"name": "Notes"},
        facts=[Fact("a fact", [], "created", "New.")],
        questions=[Question("a question", asks_memory=True, source="document", contains="the answer", page=2)],
    )
    return Story(script, Terminal(io.StringIO(), {}))


def tell(story: Story, server: Scripted) -> None:
    story.tell(Server(f"http://127.0.0.1:{server.server_port}", "admin", "password"))


def test_what_is_as_expected_is_no_surprise(story: Story, server: Scripted) -> None:
    tell(story, server)
    assert story.surprises == []


def test_another_action_is_a_surprise(story: Story, server: Scripted) -> None:
    server.answers["/memory-entries"] = {**ANSWERS["/memory-entries"], "action": "skipped"}
    tell(story, server)
    assert story.surprises == ["Fact 1 was skipped, not created."]


@pytest.mark.parametrize(
    "results",
    [
        [],
        [{**ANSWERS["/knowledge/search"]["results"][0], "page": 3}],
        [{**ANSWERS["/knowledge/search"]["results"][0], "content": "something else"}],
        [{"source_type": "memory", "memory_name": "N", "entry_id": "e", "content": "the answer", "score": 0.5}],
    ],
)
def test_another_first_result_is_a_surprise(story: Story, server: Scripted, results: list[dict[str, Any]]) -> None:
    server.answers["/knowledge/search"] = {"results": results}
    tell(story, server)
    assert story.surprises == ["The first answer to question 1 is not the expected one."]


def test_a_failed_ingestion_ends_the_story(story: Story, server: Scripted) -> None:
    server.answers["/documents/doc_1/status"] = {**READY, "status": "failed", "error": "FILE_PARSE_FAILED"}
    with pytest.raises(DemoError, match="could not be ingested: FILE_PARSE_FAILED"):
        tell(story, server)


def test_an_error_of_the_server_ends_the_story(story: Story, server: Scripted) -> None:
    del server.answers["/memories"]
    with pytest.raises(DemoError, match=r"POST /memories was answered with 500: .*INTERNAL_ERROR"):
        tell(story, server)
