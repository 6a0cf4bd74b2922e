"""The REST door: routes, errors, health, the OpenAPI document."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The REST door."""

    name = "soat.api"
    label = "api"

    def ready(self) -> None:
        """Register what extends the OpenAPI document."""
        from soat.api import openapi  # noqa: F401, PLC0415  (it registers itself when it is imported)
