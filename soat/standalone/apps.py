"""The app that holds the ``standalone`` command."""

from django.apps import AppConfig


class StandaloneConfig(AppConfig):
    """The embedded stack: PostgreSQL, broker, web, worker and beat in one command."""

    name = "soat.standalone"
    label = "standalone"
