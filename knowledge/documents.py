"""The document side of the search: chunks of settled attempts."""

import json
from collections.abc import Sequence
from typing import Any

from django.db import connection

from documents.models import Document
from embeddings.services import QueryVector
from knowledge.explanation import Found
from knowledge.hybrid import Question, found_by_legs
from knowledge.nearest import Filter, Look, Source, Way, allowed_rows, nearest, vectors_in
from knowledge.results import DocumentResult
from knowledge.words import WordFilter, projects_asked
from soat.engine.fusion import Legs
from soat.engine.match import prefix_like
from soat.engine.vectors import similarity_from_distance
from soat.tenancy.access import ProjectScope

_COLUMNS = (
    "c.public_id, d.public_id, f.public_id, p.public_id, c.index, c.page, c.content, d.path,"
    " f.filename, f.size, d.title, d.metadata, d.tags, c.created_at"
)
# An attempt is of one document, so this alone finds the chunk's.
_SETTLED = "JOIN documents_document d ON d.settled_attempt_id = c.attempt_id"
_ROW_JOINS = f" {_SETTLED} JOIN files_file f ON f.id = d.file_id JOIN tenancy_project p ON p.id = d.project_id"
_SOURCE = Source(
    vectors="documents_chunkvector",
    row_key="chunk_id",
    row="c",
    texts="documents_documentchunk c",
    rows=f"documents_documentchunk c {_SETTLED}",
    columns=_COLUMNS,
    shown=f"JOIN documents_documentchunk c ON c.id = s.row_id {_ROW_JOINS}",
)
# A path that many prefixes are given for is compared with all of them in a row, past the index.
_MOST_RANGES = 20


def search_chunks(
    scope: ProjectScope, document_ids: Sequence[str], document_paths: Sequence[str], query: QueryVector, limit: int
) -> Found[DocumentResult]:
    """Return the ``limit`` chunks nearest to the query; ids and path prefixes narrow each other."""
    answer = nearest(_SOURCE, _filter(scope, "v", document_ids, document_paths), query, limit)
    results = [_result(columns, similarity_from_distance(distance)) for distance, *columns in answer.rows]
    return Found(results, answer.look)


def search_chunks_and_words(
    scope: ProjectScope, document_ids: Sequence[str], document_paths: Sequence[str], question: Question, limit: int
) -> Found[DocumentResult]:
    """Return the chunks that are near to the question or have its words, ``limit`` of each or more, in no order."""
    wanted = _filter(scope, "v", document_ids, document_paths)
    worded = WordFilter(_in_projects(scope, "c"), wanted.where, projects_asked(scope))
    answer = found_by_legs(_SOURCE, wanted, worded, question, limit)
    return Found([_result(columns, legs.found_cosine, legs) for legs, columns in answer.rows], answer.look)


def read_chunks(
    scope: ProjectScope, document_ids: Sequence[str], document_paths: Sequence[str], limit: int
) -> Found[DocumentResult]:
    """Return the first chunks in the order of paths, those of documents without a path last."""
    wanted = _filter(scope, "d", document_ids, document_paths)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_COLUMNS} FROM documents_documentchunk c {_ROW_JOINS}"
            f" WHERE {wanted.narrow} AND {wanted.where}"
            ' ORDER BY d.path COLLATE "C" NULLS LAST, d.public_id COLLATE "C", c.index LIMIT %(limit)s',
            {**wanted.parameters, "limit": limit},
        )
        return Found([_result(columns, None) for columns in cursor.fetchall()], Look(Way.LISTED))


def _filter(scope: ProjectScope, alias: str, document_ids: Sequence[str], document_paths: Sequence[str]) -> Filter:
    allowed, parameters = allowed_rows(scope, Document, "d.id")
    conditions = [allowed] if allowed != "TRUE" else []
    if document_ids:
        conditions.append("d.public_id = ANY(%(document_ids)s)")
    if document_paths:
        conditions.append(_below(document_paths))
    return Filter(
        narrow=_in_projects(scope, alias),
        where=" AND ".join(conditions) or "TRUE",
        sizes=_sizes(scope, conditions),
        parameters={
            **parameters,
            "projects": list(scope.ids),
            "document_ids": list(document_ids),
            "document_paths": [prefix_like(path) for path in document_paths],
            **{f"document_path_{place}": prefix_like(path) for place, path in enumerate(document_paths[:_MOST_RANGES])},
        },
    )


def _in_projects(scope: ProjectScope, alias: str) -> str:
    return "TRUE" if scope.everything else f"{alias}.project_id = ANY(%(projects)s)"


def _below(paths: Sequence[str]) -> str:
    """Return the condition on the path; one pattern at a time is a range of the index, a list of them is none."""
    if len(paths) > _MOST_RANGES:
        return "d.path LIKE ANY(%(document_paths)s)"
    return "(" + " OR ".join(f"d.path LIKE %(document_path_{place})s" for place in range(len(paths))) + ")"


def _sizes(scope: ProjectScope, conditions: Sequence[str]) -> str:
    """Count documents by their chunks where conditions narrow them; without any the vectors' own index tells."""
    if not conditions:
        return vectors_in(_SOURCE, _in_projects(scope, "v"))
    return (
        "SELECT a.chunk_count AS number FROM documents_document d"
        " JOIN documents_ingestionattempt a ON a.id = d.settled_attempt_id"
        f" WHERE {' AND '.join([_in_projects(scope, 'd'), *conditions])}"
    )


def _result(columns: Sequence[Any], similarity: float | None, legs: Legs | None = None) -> DocumentResult:
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
        legs=legs,
    )


def _json(value: Any) -> Any:
    """Decode a JSON column, which a raw cursor of Django hands over as text."""
    return json.loads(value) if isinstance(value, str) else value
