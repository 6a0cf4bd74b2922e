"""Users, projects, API keys and what each of them may do."""

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    """The tenancy app."""

    name = "soat.tenancy"
    label = "tenancy"
    verbose_name = "Access"

    def ready(self) -> None:
        """Let the audit trail of a project go with it."""
        from soat.audit.services import count_events, purge_events  # noqa: PLC0415  (models are loaded only now)
        from soat.tenancy.deletion import Dependents, register_dependents  # noqa: PLC0415

        register_dependents(90, Dependents("audit events", count_events, purge_events, keeps=False))
