"""Documents: a file's searchable form, and the pipeline that makes it."""

from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    """The documents app."""

    name = "documents"
    label = "documents"

    def ready(self) -> None:
        """Let documents go with their project, and their words with its configuration."""
        from documents.models import DocumentChunk  # noqa: PLC0415
        from documents.services import count_documents, purge_documents  # noqa: PLC0415  (models are loaded only now)
        from soat.tenancy.deletion import Dependents, register_dependents  # noqa: PLC0415
        from soat.tenancy.lexeme_refresh import register_texts  # noqa: PLC0415

        register_dependents(10, Dependents("documents", count_documents, purge_documents))
        register_texts(DocumentChunk.objects)
