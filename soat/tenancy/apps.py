"""Users, projects, API keys and what each of them may do."""

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    """The tenancy app."""

    name = "soat.tenancy"
    label = "tenancy"
    verbose_name = "Access"
