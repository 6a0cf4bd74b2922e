"""Abstract models that every app builds on."""

from datetime import datetime
from typing import TypeVar

from django.db import models
from django.utils import timezone


class TimeStamped(models.Model):
    """Creation and last real change, both in UTC.

    ``updated_at`` is set by the service that changes the row, so that a request which changes
    nothing leaves it alone.
    """

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True


ModelT = TypeVar("ModelT", bound=models.Model)


class WithoutLexemes(models.Manager[ModelT]):
    """Rows without their column ``lexemes``: the database searches in it, and what it sends of it is of no use."""

    def get_queryset(self) -> models.QuerySet[ModelT]:
        """Return the rows; ``lexemes`` is read only where somebody asks for it."""
        return super().get_queryset().defer("lexemes")


def wire_time(moment: datetime) -> str:
    """Return ``moment`` as the API writes times: ISO 8601, UTC, milliseconds, ``Z``."""
    return f"{moment.strftime('%Y-%m-%dT%H:%M:%S')}.{moment.microsecond // 1000:03d}Z"
