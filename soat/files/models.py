"""Files."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from soat.core.ids import PublicIdField
from soat.core.models import TimeStamped
from soat.tenancy.models import ApiKey, Project, User
from soat.tenancy.resources import ResourceKind


class File(TimeStamped):
    """One stored file. ``path`` is a label, unique in its project; the bytes lie under ``storage_key``.

    ``size`` is what was stored; of a record that was made without bytes, what its maker said, or null.
    """

    resource: ClassVar = ResourceKind(type="file", reads=("files:GetFile",), path="path", tags="tags")

    public_id = PublicIdField(prefix="file")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="files", db_index=False)
    prefix = models.CharField(max_length=1024, default="/")
    filename = models.CharField(max_length=255)
    path = models.CharField(max_length=1024, null=True, blank=True)  # noqa: DJ001  (null: no path; "" is none)
    content_type = models.CharField(max_length=255)
    size = models.BigIntegerField(null=True, blank=True)
    metadata = models.TextField(null=True, blank=True)  # noqa: DJ001  (the contract tells null from "")
    tags = models.JSONField(default=dict, blank=True)
    storage_key = models.CharField(max_length=255, unique=True, editable=False)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["project", "path"], name="file_path_unique", condition=Q(path__isnull=False)
            ),
            models.CheckConstraint(condition=Q(size__gte=0), name="file_size_not_negative"),
        ]
        indexes: ClassVar = [models.Index(fields=["project", "-created_at", "-id"], name="file_list")]

    def __str__(self) -> str:
        return self.path or self.filename


class UploadToken(models.Model):
    """A permission to upload one file, handed to somebody without a credential. Only the token's hash is stored.

    ``user`` and ``key`` are those who asked for it: with them it goes.
    """

    token_hash = models.BinaryField(max_length=32, unique=True, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, null=True, related_name="+")
    prefix = models.CharField(max_length=1024, default="/")
    filename = models.CharField(max_length=255, blank=True)
    content_type = models.CharField(max_length=255, blank=True)
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"upload to {self.prefix}"


class ReleasedBytes(models.Model):
    """Bytes without a row that are still to be deleted from the storage, written with what gave them up."""

    storage_key = models.CharField(max_length=255, unique=True)
    released_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "released bytes"

    def __str__(self) -> str:
        return self.storage_key
