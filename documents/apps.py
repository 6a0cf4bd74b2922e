"""Documents: a file's searchable form, and the pipeline that makes it."""

from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    """The documents app."""

    name = "documents"
    label = "documents"
