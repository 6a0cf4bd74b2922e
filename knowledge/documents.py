"""The document side of the search: chunks of settled attempts."""

import json
from collections.abc import Sequence
from typing import Any

from django.db import connection

from documents.models import Document
from embeddings.services import QueryVector
from knowledge.nearest import Filter, Source, allowed_rows, nearest
from knowledge.results import DocumentResult
from soat.engine.match import prefix_like
from soat.engine.vectors import similarity_from_distance
from soat.tenancy.access import ProjectScope

_COLUMNS = (
    "c.public_id, d.public_id, f.public_id, p.public_id, c.index, c.page, c.content, d.path,"
    " f.filename, f.size, d.title, d.metadata, d.tags, c.created_at"
)
# An attempt is of one document, so this alone finds the chunk's. A second condition would make the planner
# expect next to no rows, and sort all of them instead of asking the index.
_SETTLED = "JOIN documents_document d ON d.settled_attempt_id = c.attempt_id"
_ROW_JOINS = f" {_SETTLED} JOIN files_file f ON f.id = d.file_id JOIN tenancy_project p ON p.id = d.project_id"
_SOURCE = Source(
    vectors="documents_chunkvector",
    row_key="chunk_id",
    joins=f"JOIN documents_documentchunk c ON c.id = v.chunk_id {_SETTLED}",
    tie_break='c.public_id COLLATE "C"',
    columns=f"{_COLUMNS} FROM scored s JOIN documents_documentchunk c ON c.id = s.row_id {_ROW_JOINS}",
)


def search_chunks(
    scope: ProjectScope, document_ids: Sequence[str], document_paths: Sequence[str], query: QueryVector, limit: int
) -> list[DocumentResult]:
    """Return the ``limit`` chunks nearest to the query; ids and path prefixes narrow each other."""
    wanted = _filter(scope, "v", document_ids, document_paths)
    return [
        _result(columns, similarity_from_distance(distance))
        for distance, *columns in nearest(_SOURCE, wanted, query, limit)
    ]


def read_chunks(
    scope: ProjectScope, document_ids: Sequence[str], document_paths: Sequence[str], limit: int
) -> list[DocumentResult]:
    """Return the first chunks in the order of paths, those of documents without a path last."""
    wanted = _filter(scope, "d", document_ids, document_paths)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_COLUMNS} FROM documents_documentchunk c {_ROW_JOINS}"
            f" WHERE {wanted.narrow} AND {wanted.where}"
            ' ORDER BY d.path COLLATE "C" NULLS LAST, d.public_id COLLATE "C", c.index LIMIT %(limit)s',
            {**wanted.parameters, "limit": limit},
        )
        return [_result(columns, None) for columns in cursor.fetchall()]


def _filter(scope: ProjectScope, alias: str, document_ids: Sequence[str], document_paths: Sequence[str]) -> Filter:
    conditions = ["TRUE"]
    if document_ids:
        conditions.append("d.public_id = ANY(%(document_ids)s)")
    if document_paths:
        conditions.append("d.path LIKE ANY(%(document_paths)s)")
    allowed, parameters = allowed_rows(scope, Document, "d.id")
    conditions.append(allowed)
    return Filter(
        narrow="TRUE" if scope.everything else f"{alias}.project_id = ANY(%(projects)s)",
        where=" AND ".join(conditions),
        parameters={
            **parameters,
            "projects": list(scope.ids),
            "document_ids": list(document_ids),
            "document_paths": [prefix_like(path) for path in document_paths],
        },
    )


def _result(columns: Sequence[Any], similarity: float | None) -> DocumentResult:
    (chunk, document, file, project, index, page, content, path, filename, size, title, metadata, tags, at) = columns
    return DocumentResult(
        id=chunk,
        document_id=document,
        file_id=file,
        project_id=project,
        chunk_index=index,
        page=page,
        content=content,
        path=path,
        filename=filename,
        size=size,
        title=title,
        metadata=_json(metadata),
        tags=_json(tags),
        created_at=at,
        similarity=similarity,
    )


def _json(value: Any) -> Any:
    """Decode a JSON column, which a raw cursor of Django hands over as text."""
    return json.loads(value) if isinstance(value, str) else value
