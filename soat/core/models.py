"""Abstract models that every app builds on."""

from datetime import datetime

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


def wire_time(moment: datetime) -> str:
    """Return ``moment`` as the API writes times: ISO 8601, UTC, milliseconds, ``Z``."""
    return f"{moment.strftime('%Y-%m-%dT%H:%M:%S')}.{moment.microsecond // 1000:03d}Z"
