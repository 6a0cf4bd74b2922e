"""The story of the demo, told over REST: a document, some facts, some questions."""

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from soat.standalone.demo.client import Client
from soat.standalone.demo.errors import DemoError
from soat.standalone.demo.script import Fact, Question, Script
from soat.standalone.demo.server import Server
from soat.standalone.demo.terminal import ProgressBar, Style, Terminal, passage

RESULTS = 3

_LOOK_SECONDS = 0.1
_PATIENCE_SECONDS = 120.0
_MARGIN = "   "


class Story:
    """What happens, and in ``surprises`` what of it was not as expected."""

    def __init__(self, script: Script, terminal: Terminal) -> None:
        self._script = script
        self._terminal = terminal
        self.surprises: list[str] = []

    def tell(self, server: Server) -> None:
        """Do and show everything. Raises ``DemoError`` where it cannot go on."""
        client = _sign_in(server)
        self._terminal.write(f"{_MARGIN}ready at {server.base_url}, with a new project and a key that opens only it")
        self._ingest(client)
        self._ask(client, memory_id=self._write_facts(client))

    def _ingest(self, client: Client) -> None:
        self._terminal.heading("1. A document goes in, and a Celery worker makes it searchable")
        file = client.upload_file(self._script.document)
        document = client.ingest_document(file["id"])
        self._terminal.write(f"{_MARGIN}{_shown(self._script.document)}, {file['size'] / 1000:.0f} kB, uploaded")
        begun = time.monotonic()
        status = self._watch(client, document["id"])
        if status["status"] != "ready":
            raise DemoError(f"The document could not be ingested: {status['error']}.")
        self._terminal.write(
            f"{_MARGIN}searchable after {time.monotonic() - begun:.1f} s: "
            f"{status['total_pages']} pages in {status['chunk_count']} chunks, each with its vector"
        )

    def _watch(self, client: Client, document_id: str) -> Any:
        """Show the progress until the document is settled, and return its status then."""
        bar = ProgressBar(self._terminal, _MARGIN)
        before, deadline = None, 0.0
        while True:
            status = client.get_document_status(document_id)
            bar.show(status["chunk_count"], status["total_chunks"], _progress(status))
            if status["status"] in {"ready", "failed"}:
                bar.end()
                return status
            if status != before:
                before, deadline = status, time.monotonic() + _PATIENCE_SECONDS
            if time.monotonic() > deadline:
                raise DemoError(f"The ingestion has not moved for {_PATIENCE_SECONDS:.0f} seconds.")
            time.sleep(_LOOK_SECONDS)

    def _write_facts(self, client: Client) -> str:
        """Write the facts into a memory and return its id."""
        memory = client.create_memory(self._script.memory)
        self._terminal.heading(f'2. Facts go into the memory "{memory["name"]}": the new are kept, the known are not')
        places: dict[str, int] = {}
        for place, fact in enumerate(self._script.facts, 1):
            answer = client.create_memory_entry(memory["id"], fact.content, fact.tags)
            places.setdefault(answer["id"], place)
            self._show_fact(place, fact, answer, places)
            if answer["action"] != fact.expect:
                self.surprises.append(f"Fact {place} was {answer['action']}, not {fact.expect}.")
        return str(memory["id"])

    def _show_fact(self, place: int, fact: Fact, answer: Mapping[str, Any], places: Mapping[str, int]) -> None:
        action, reason = answer["action"], answer["reason"]
        style = Style.YELLOW if action == "skipped" else Style.GREEN
        label = f"{_MARGIN}{place}. {action:<7}  "
        self._terminal.labelled(label, fact.content, label_style=style)
        why = f"{fact.note if action == fact.expect else 'Not as expected.'} [{reason}"
        if matched := answer.get("matched_entry_id"):
            why += f", similarity {answer['similarity']:.3f} to fact {places.get(matched, '?')}: {matched}"
        self._terminal.labelled(" " * len(label), f"{why}]", Style.DIM, most=3)

    def _ask(self, client: Client, *, memory_id: str) -> None:
        self._terminal.heading("3. Questions in other words, and the right passage comes out with its source")
        for place, question in enumerate(self._script.questions, 1):
            asked = [memory_id] if question.asks_memory else []
            results = client.search_knowledge(question.query, asked, RESULTS)["results"]
            self._terminal.labelled(_MARGIN, question.query, Style.BOLD, most=2)
            for rank, result in enumerate(results, 1):
                self._show_result(rank, result, question)
            if not results or not _is_expected(results[0], question):
                self.surprises.append(f"The first answer to question {place} is not the expected one.")

    def _show_result(self, rank: int, result: Mapping[str, Any], question: Question) -> None:
        """Show the best result with its passage, the others with as much as fits on a line."""
        style = Style.GREEN if _is_expected(result, question) else Style.PLAIN
        label = f"{_MARGIN}{rank}. {result['score']:.3f}  "
        if rank > 1:
            self._terminal.labelled(label, f"{_source(result)}: {result['content']}", label_style=style)
            return
        self._terminal.labelled(label, _source(result), label_style=style)
        room = 2 * (self._terminal.width - len(label))
        text = passage(result["content"], question.contains, room)
        self._terminal.labelled(" " * len(label), text, Style.DIM, most=2)


def _sign_in(server: Server) -> Client:
    """Make a project of this run's own, and return a client whose key is good for nothing else."""
    visitor = Client(server.base_url)
    login = visitor.login_user(server.admin_username, server.admin_password)
    admin = visitor.with_token(login["token"])
    project = admin.create_project(f"Demo {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}")
    return visitor.with_token(admin.create_api_key("demo", project["id"])["key"])


def _shown(path: Path) -> str:
    return "/".join(path.parts[-3:])


def _progress(status: Mapping[str, Any]) -> str:
    if status["total_chunks"]:
        return f"{status['chunk_count']} of {status['total_chunks']} chunks embedded"
    if status["total_pages"]:
        return f"{status['total_pages']} pages read"
    return "waiting for a worker" if status["status"] == "pending" else "a worker reads it"


def _source(result: Mapping[str, Any]) -> str:
    if result["source_type"] == "document":
        return f"{result['path']}, page {result['page']}"
    return f'memory "{result["memory_name"]}", {result["entry_id"]}'


def _is_expected(result: Mapping[str, Any], question: Question) -> bool:
    return (
        result["source_type"] == question.source
        and question.contains in " ".join(result["content"].split())
        and (question.page is None or result["page"] == question.page)
    )
