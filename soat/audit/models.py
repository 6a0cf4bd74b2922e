"""Lines of the audit trail. They outlive what they speak of, so nothing here is a foreign key."""

from typing import ClassVar

from django.db import models


class AuditEvent(models.Model):
    """One change that somebody made, over the API or in the admin.

    ``before`` and ``after`` have the fields that changed; ``before`` is null for what was made, ``after``
    for what was deleted. ``project_id`` is the key of the project that the row stands in.
    """

    at = models.DateTimeField(db_index=True)
    project_id = models.BigIntegerField(null=True)
    user = models.CharField(max_length=40, blank=True)
    username = models.CharField(max_length=150, blank=True)
    key = models.CharField(max_length=40, blank=True)
    key_name = models.CharField(max_length=255, blank=True, default="")
    operation = models.CharField(max_length=100)
    resource_type = models.CharField(max_length=40)
    resource_id = models.CharField(max_length=40, db_index=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    request_id = models.CharField(max_length=128)
    address = models.CharField(max_length=45, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["project_id", "-id"], name="audit_project"),
            models.Index(fields=["user", "-id"], name="audit_user"),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.resource_id}"
