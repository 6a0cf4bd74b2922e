"""The one search over documents and memories."""

from django.apps import AppConfig


class KnowledgeConfig(AppConfig):
    """The knowledge app."""

    name = "knowledge"
    label = "knowledge"
