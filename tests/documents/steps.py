"""What most tests of documents do: upload, ingest, run what is queued, look at the rows and search."""

import base64
import json
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from documents import pipeline
from documents.models import AttemptState, Document, DocumentChunk, IngestionAttempt

DOCUMENTS = "/api/v1/documents"
PLAIN = "text/plain"
PDF = "application/pdf"


def post(client: APIClient, path: str, body: Any = None) -> Any:
    """Send a JSON body; return the response."""
    return client.post(path, json.dumps({} if body is None else body), content_type="application/json")


def patch(client: APIClient, path: str, body: Any) -> Any:
    """Send a JSON body; return the response."""
    return client.patch(path, json.dumps(body), content_type="application/json")


def create(client: APIClient, content: str, **fields: Any) -> dict[str, Any]:
    """Make a plain-text document; return its record."""
    response = post(client, DOCUMENTS, {"content": content, **fields})
    assert response.status_code == 201, response.content
    record: dict[str, Any] = response.json()
    return record


def upload(
    client: APIClient, raw: bytes, filename: str = "notes.txt", content_type: str = PLAIN, **fields: Any
) -> dict[str, Any]:
    """Upload a file; return its record."""
    if raw:
        body = {"content": base64.b64encode(raw).decode(), "content_type": content_type, **fields}
        response = post(client, "/api/v1/files/upload/base64", {"filename": filename, **body})
    else:  # JSON takes an empty content for a missing one
        form = {"file": SimpleUploadedFile(filename, raw, content_type), **fields}
        response = client.post("/api/v1/files/upload", form, format="multipart")
    assert response.status_code == 201, response.content
    record: dict[str, Any] = response.json()
    return record


def ingest(client: APIClient, file: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Ask for the ingestion of a file; return the document's record."""
    response = post(client, f"{DOCUMENTS}/ingest", {"file_id": file["id"], **fields})
    assert response.status_code == 202, response.content
    record: dict[str, Any] = response.json()
    return record


def reingest(client: APIClient, document_id: str, **fields: Any) -> dict[str, Any]:
    """Ask for another ingestion; return the document's record."""
    response = post(client, f"{DOCUMENTS}/{document_id}/ingest", fields)
    assert response.status_code == 202, response.content
    record: dict[str, Any] = response.json()
    return record


def read(client: APIClient, document_id: str) -> dict[str, Any]:
    """Return a document's record with its content."""
    response = client.get(f"{DOCUMENTS}/{document_id}")
    assert response.status_code == 200, response.content
    record: dict[str, Any] = response.json()
    return record


def status(client: APIClient, document_id: str) -> dict[str, Any]:
    """Return a document's status record."""
    response = client.get(f"{DOCUMENTS}/{document_id}/status")
    assert response.status_code == 200, response.content
    record: dict[str, Any] = response.json()
    return record


def run_queued() -> None:
    """Run every queued attempt here, as a worker does."""
    queued = IngestionAttempt.objects.filter(state=AttemptState.QUEUED).order_by("pk")
    for attempt_id in list(queued.values_list("pk", flat=True)):
        pipeline.ingest(attempt_id)


def ingested(
    client: APIClient, raw: bytes, filename: str = "notes.txt", content_type: str = PLAIN, **fields: Any
) -> dict[str, Any]:
    """Upload and ingest a file to its end; return the document's record with its content."""
    record = ingest(client, upload(client, raw, filename, content_type), **fields)
    run_queued()
    return read(client, record["id"])


def row(document_id: str) -> Document:
    """Return a document's row."""
    return Document.objects.select_related("file", "current_attempt", "settled_attempt").get(public_id=document_id)


def current(document_id: str) -> IngestionAttempt:
    """Return a document's latest attempt."""
    attempt = row(document_id).current_attempt
    assert attempt is not None
    return attempt


def chunks(document_id: str) -> list[DocumentChunk]:
    """Return the chunks that count, in order."""
    settled = row(document_id).settled_attempt_id
    return list(DocumentChunk.objects.filter(attempt_id=settled).order_by("index")) if settled else []


def texts(document_id: str) -> list[str]:
    """Return the texts of the chunks that count, in order."""
    return [chunk.content for chunk in chunks(document_id)]


def search(client: APIClient, query: str, **fields: Any) -> list[dict[str, Any]]:
    """Search the documents; return the results, best first."""
    response = post(client, "/api/v1/knowledge/search", {"query": query, **fields})
    assert response.status_code == 200, response.content
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def error(response: Any) -> tuple[int, str]:
    """Return status and code of an error answer."""
    return response.status_code, response.json()["error"]["code"]


def faulty_fields(response: Any) -> set[str]:
    """Return the fields that an error answer names."""
    meta = response.json()["error"].get("meta", {})
    return {*meta.get("fields", {}), *meta.get("missingFields", []), *meta.get("unknownFields", [])}
