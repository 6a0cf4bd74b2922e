"""The project package as an app, so that Celery is set up wherever Django is."""

from django.apps import AppConfig


class SoatConfig(AppConfig):
    """Load the Celery application once Django is ready."""

    name = "soat"
    label = "soat"

    def ready(self) -> None:
        """Bind tasks that are published from web processes to the configured broker."""
        from soat import celery  # noqa: F401, PLC0415  (imported here: ``soat.engine`` must not load Celery)
