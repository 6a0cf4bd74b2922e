"""How documents are read."""

from django.db.models import Q, QuerySet

from documents.models import Document
from soat.core.lookups import Like
from soat.engine.match import folder_like
from soat.tenancy.access import Access, Reach

NO_DOCUMENT = "There is no such document."


def listed_documents(reach: Reach, path_prefix: str | None = None) -> QuerySet[Document]:
    """Return the documents within reach, newest first; ``path_prefix`` is a folder (``/a`` never reaches ``/ab``)."""
    rows = reach.of(Document).filter(Document.objects.select_related("project", "file").order_by("-created_at", "-id"))
    if path_prefix is None or path_prefix == "/":
        return rows
    folder = folder_like(path_prefix)
    return rows.filter(Q(path=folder.exact) | Like("path", folder.like))


def readable_document(access: Access, public_id: str) -> Document:
    """Return a document for the action of ``access``. Raises ``NotFound`` and ``Forbidden``."""
    rows = Document.objects.select_related("project", "file", "current_attempt", "settled_attempt")
    return access.get(rows, public_id, NO_DOCUMENT)
