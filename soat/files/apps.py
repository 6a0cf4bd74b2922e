"""Uploaded files: a row here, the bytes in a storage backend."""

from django.apps import AppConfig


class FilesConfig(AppConfig):
    """The files app."""

    name = "soat.files"
    label = "files"
