"""Uploaded files: a row here, the bytes in a storage backend."""

from django.apps import AppConfig


class FilesConfig(AppConfig):
    """The files app."""

    name = "soat.files"
    label = "files"

    def ready(self) -> None:
        """Let files go with their project, after the documents that stand on them."""
        from soat.files.services import count_files, purge_files  # noqa: PLC0415  (models are loaded only now)
        from soat.tenancy.deletion import Dependents, register_dependents  # noqa: PLC0415

        register_dependents(20, Dependents("files", count_files, purge_files))
