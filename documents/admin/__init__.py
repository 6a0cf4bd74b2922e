"""Documents, their runs, pages and chunks in the admin."""

from documents.admin.documents import DocumentAdmin
from documents.admin.parts import DocumentChunkAdmin, DocumentPageAdmin, IngestionAttemptAdmin

__all__ = ["DocumentAdmin", "DocumentChunkAdmin", "DocumentPageAdmin", "IngestionAttemptAdmin"]
