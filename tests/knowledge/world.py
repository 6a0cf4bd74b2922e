"""What the searches of these tests look through: documents and memories of two projects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from documents.models import ChunkVector, Document, IngestionAttempt
from memories.models import EntryVector, MemoryEntry
from tests.conftest import Cast, make_cast
from tests.memories.rest import Record, new_memory, write

SEARCH = "/api/v1/knowledge/search"
DOCUMENTS = "/api/v1/documents"
SWORDFISH = "The launch code of project B is swordfish."

# Path -> text. The one without a path is kept under "".
TEXTS = {
    "/policies/refund.txt": "Refunds are processed within ten business days.",
    "/policies/shipping.txt": "Parcels are shipped from the warehouse in Hamburg.",
    "/policies.txt": "All company policies are reviewed once a year.",
    "/100%/sale.txt": "Everything is half price on the first of May.",
    "/100x/lift.txt": "The elevator is repaired by a local company.",
    "/a_b/notes.txt": "The garden is watered every evening.",
    "/axb/notes.txt": "The kitchen is cleaned on Saturdays.",
    "/back\\slash.txt": "The printer stands beside the window.",
    "": "A memo without any path about the fire drill.",
}
MANUAL = "/manual.txt"
MANUAL_CHUNKS = [
    "Step one: switch the machine on. ",
    "Step two: fill in fresh water.   ",
    "Step three: press the button.    ",
]
MEMORIES: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "Prefs": (["customer-1", "support"], {"The user prefers dark mode.": ["ui"], "The user drinks green tea.": []}),
    "Team": (
        ["team"],
        {"Alice leads the data team.": ["UI", "100%"], "Bob answers calls on Fridays.": ["a_b", "100x"]},
    ),
    "Office": ([], {"The office dog is called Rex.": []}),
}
SUPERSEDED = "The user prefers light mode."
VECTORLESS = "The user owns a red bicycle."


@dataclass(frozen=True)
class World:
    """The cast, and the ids of what it can or cannot find: documents by path, memories by name, entries by text."""

    cast: Cast
    documents: dict[str, str]
    memories: dict[str, str]
    entries: dict[str, str]
    secret_document: str
    secret_memory: str


def build_world() -> World:
    """Fill the database over REST."""
    cast = make_cast()
    documents = {path: new_document(cast.a, content, path=path or None) for path, content in TEXTS.items()}
    documents[MANUAL] = new_document(
        cast.a, "".join(MANUAL_CHUNKS), path=MANUAL, chunk_strategy="size", chunk_size=33, chunk_overlap=0
    )
    memories: dict[str, str] = {}
    entries: dict[str, str] = {}
    for name, (tags, facts) in MEMORIES.items():
        memories[name] = new_memory(cast.a, name=name, tags=tags)["id"]
        for content, own in facts.items():
            entries[content] = write(cast.a, memories[name], content, tags=own)["id"]
    for content in (SUPERSEDED, VECTORLESS):
        entries[content] = write(cast.a, memories["Prefs"], content, tags=["ui"])["id"]
    MemoryEntry.objects.filter(content=SUPERSEDED).update(invalidated_at=timezone.now())
    EntryVector.objects.filter(entry__content=VECTORLESS).delete()
    secret = new_memory(cast.b, name="Secrets", tags=["customer-1", "secret"])["id"]
    write(cast.b, secret, SWORDFISH, tags=["ui", "secret"])
    secret_document = new_document(cast.b, SWORDFISH, path="/policies/secret.txt")
    return World(cast, documents, memories, entries, secret_document, secret)


def clear_world() -> None:
    """Empty the tables that a world fills, and leave the vector space with its indexes."""
    tables = (Document, IngestionAttempt, ChunkVector, MemoryEntry, EntryVector)
    names = [model._meta.db_table for model in tables]
    with connection.cursor() as cursor:
        cursor.execute(
            f"TRUNCATE {', '.join(names)}, files_file, memories_memory, tenancy_project, tenancy_user CASCADE"
        )


def new_document(client: APIClient, content: str, **fields: object) -> str:
    """Create a plain-text document and return its id."""
    given = {name: value for name, value in fields.items() if value is not None}
    response = client.post(DOCUMENTS, {"content": content, **given}, format="json")
    assert response.status_code == 201, response.content
    document_id: str = response.json()["id"]
    return document_id


def search(client: APIClient, **body: Any) -> list[Record]:
    """Search and return the results."""
    response = client.post(SEARCH, body, format="json")
    assert response.status_code == 200, response.content
    assert set(response.json()) == {"results"}
    results: list[Record] = response.json()["results"]
    return results


def contents(results: Sequence[Record]) -> list[str]:
    """Return the texts of results, in their order."""
    return [result["content"] for result in results]


def ids(results: Sequence[Record]) -> list[str]:
    """Return the ids of chunks and entries, in the order of the results."""
    return [result["chunk_id"] if result["source_type"] == "document" else result["entry_id"] for result in results]
