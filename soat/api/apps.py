"""The REST door: routes, errors, health, the OpenAPI document."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The REST door."""

    name = "soat.api"
    label = "api"
