"""What must hold of every document at rest, asked of the database."""

from django.core.files.storage import default_storage
from django.db import connection

from documents.models import Document, DocumentChunk, DocumentPage
from knowledge.search import Search, search_knowledge
from soat.files.models import File
from soat.tenancy.access import ALL_PROJECTS
from soat.tenancy.models import Project

NEVER = {
    "the indexes of chunks are dense from 0, and as many as the attempt says": """
        SELECT a.id, count(c.id), a.chunk_count, a.total_chunks
        FROM documents_document d JOIN documents_ingestionattempt a ON a.id = d.settled_attempt_id
        LEFT JOIN documents_documentchunk c ON c.attempt_id = a.id
        GROUP BY a.id
        HAVING count(c.id) = 0 OR min(c.index) <> 0 OR max(c.index) <> count(c.id) - 1
            OR count(c.id) <> a.chunk_count OR count(c.id) <> a.total_chunks
    """,
    "every vector belongs to a chunk": """
        SELECT v.id FROM documents_chunkvector v LEFT JOIN documents_documentchunk c ON c.id = v.chunk_id
        WHERE c.id IS NULL OR c.project_id <> v.project_id
    """,
    "a settled attempt is ready, and a ready one settled": """
        SELECT a.id FROM documents_ingestionattempt a LEFT JOIN documents_document d ON d.settled_attempt_id = a.id
        WHERE (d.id IS NOT NULL) <> (a.state = 'ready')
    """,
    "a document has at most one open attempt, the current one": """
        SELECT a.id FROM documents_ingestionattempt a JOIN documents_document d ON d.id = a.document_id
        WHERE a.state IN ('queued', 'processing') AND d.current_attempt_id IS DISTINCT FROM a.id
    """,
    "a document's status is that of its current attempt": """
        SELECT d.id, d.status, a.state
        FROM documents_document d LEFT JOIN documents_ingestionattempt a ON a.id = d.current_attempt_id
        WHERE d.status IS DISTINCT FROM CASE a.state WHEN 'queued' THEN 'pending' ELSE a.state END
    """,
    "what was cleared is empty": """
        SELECT a.id FROM documents_ingestionattempt a WHERE a.cleared_at IS NOT NULL AND (
            EXISTS (SELECT FROM documents_documentchunk c WHERE c.attempt_id = a.id)
            OR EXISTS (SELECT FROM documents_documentpage p WHERE p.attempt_id = a.id))
    """,
    "rows stay in their document's project": """
        SELECT d.id FROM documents_document d
        JOIN documents_ingestionattempt a ON a.document_id = d.id
        LEFT JOIN documents_documentchunk c ON c.attempt_id = a.id
        LEFT JOIN documents_documentpage p ON p.attempt_id = a.id
        WHERE a.project_id <> d.project_id OR c.project_id <> d.project_id OR p.project_id <> d.project_id
            OR c.document_id <> d.id
    """,
}


def check() -> None:
    """Assert all of it."""
    with connection.cursor() as cursor:
        for rule, violations in NEVER.items():
            cursor.execute(violations)
            assert cursor.fetchall() == [], f"violated: {rule}"
    for document in Document.objects.all():
        _check_texts(document)
    _check_search()
    _check_bytes()


def _check_texts(document: Document) -> None:
    """Chunks are pieces of the pages, joined by line feeds, at the offsets that they name."""
    pages = list(DocumentPage.objects.filter(attempt_id=document.settled_attempt_id).order_by("index"))
    joined = "\n".join(page.text for page in pages)
    assert [page.index for page in pages] == list(range(len(pages)))
    for page in pages:
        assert joined[page.start : page.start + len(page.text)] == page.text
    for chunk in DocumentChunk.objects.filter(attempt_id=document.settled_attempt_id):
        assert joined[chunk.start : chunk.end] == chunk.content


def _check_search() -> None:
    """No chunk of an unsettled attempt is found, with a query or without."""
    settled = set(
        DocumentChunk.objects.filter(
            attempt_id__in=Document.objects.exclude(settled_attempt=None).values("settled_attempt_id")
        ).values_list("public_id", flat=True)
    )
    ids = tuple(Document.objects.values_list("public_id", flat=True))
    for search in (Search(query="what is said here", limit=1_000), Search(document_ids=ids, limit=1_000)):
        if ids or search.query:
            found = {result.id for result in search_knowledge(scope=ALL_PROJECTS, search=search)}
            assert found <= settled


def _check_bytes() -> None:
    """Every file has its bytes; and no bytes lie there without a file, once what is done on commit is done."""
    for project in Project.objects.all():
        keys = set(File.objects.filter(project=project).values_list("storage_key", flat=True))
        stored = stored_keys(project)
        assert keys <= stored
        assert connection.in_atomic_block or keys == stored


def stored_keys(project: Project) -> set[str]:
    """Return the storage keys under which bytes of the project lie."""
    try:
        _, names = default_storage.listdir(project.public_id)
    except FileNotFoundError:
        return set()
    return {f"{project.public_id}/{name}" for name in names}
