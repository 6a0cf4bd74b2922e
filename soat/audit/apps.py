"""The audit trail: who changed what, and how it was before."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The audit app."""

    name = "soat.audit"
    label = "audit"
