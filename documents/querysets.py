"""How documents are read."""

from django.db.models import Q, QuerySet

from documents.models import Document
from soat.core.errors import NotFound
from soat.core.lookups import Like
from soat.engine.match import folder_like
from soat.tenancy.access import Caller, ProjectScope


def listed_documents(scope: ProjectScope, path_prefix: str | None = None) -> QuerySet[Document]:
    """Return the documents of a scope, newest first; ``path_prefix`` is a folder (``/a`` never reaches ``/ab``)."""
    rows = scope.filter(Document.objects.select_related("project", "file").order_by("-created_at", "-id"))
    if path_prefix is None or path_prefix == "/":
        return rows
    folder = folder_like(path_prefix)
    return rows.filter(Q(path=folder.exact) | Like("path", folder.like))


def readable_document(caller: Caller, action: str, public_id: str) -> Document:
    """Return a document on which the caller may do ``action``. Raises ``NotFound``."""
    rows = Document.objects.select_related("project", "file", "current_attempt", "settled_attempt")
    document = caller.projects(action).filter(rows).filter(public_id=public_id).first()
    if document is None:
        raise NotFound("There is no such document.")
    return document
