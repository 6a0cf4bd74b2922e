"""Memories, their entries and the one write funnel."""

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """The memories app."""

    name = "memories"
    label = "memories"
