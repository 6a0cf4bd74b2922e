"""Writing the audit trail, and letting go of it."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from soat.audit.models import AuditEvent
from soat.core.models import wire_time
from soat.core.serving import client_address, operation_name, served_request, served_request_id

MAX_TEXT = 2_000
"""Characters of one value; a longer one is cut, and says so."""

MAX_VALUE = 20_000
"""Characters of JSON of one value; a larger one is left out, and says so."""

BATCH = 1_000


def record(
    resource_type: str,
    resource_id: str,
    *,
    project_id: int | None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Write a line about a change, in the transaction that makes it.

    Nothing is written outside of a request (a worker, a command), and where neither ``before`` nor
    ``after`` says anything. Who needs no credential (the first admin) has no name; an upload with a token
    is the token's maker's.
    """
    request = served_request()
    if not settings.AUDIT_ENABLED or request is None or not (before or after):
        return
    user: Any = getattr(request, "user", None)
    by_token: Any = getattr(request, "auth", None)
    AuditEvent.objects.create(
        at=timezone.now(),
        project_id=project_id,
        user=getattr(user, "public_id", ""),
        username=getattr(user, "username", ""),
        key=getattr(by_token, "key_public_id", None) or "",
        key_name=getattr(by_token, "key_name", None) or "",
        operation=_operation(request)[:100],
        resource_type=resource_type,
        resource_id=resource_id,
        before=_shown(before),
        after=_shown(after),
        request_id=served_request_id(),
        address=client_address(request),
    )


def _operation(request: HttpRequest) -> str:
    """Return the operationId, or the page of the admin and the action that was chosen on it."""
    name = operation_name(request)
    match = request.resolver_match
    if name != "admin" or match is None:
        return name
    action = request.POST.get("action", "") if str(match.url_name).endswith("_changelist") else ""
    return " ".join(filter(None, (f"admin: {match.url_name}", action)))


def _shown(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else {name: _value(value) for name, value in values.items()}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return wire_time(value)
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}… ({len(value):,} characters)"
    if value is None or isinstance(value, bool | int | float):
        return value
    size = len(json.dumps(value, default=str))
    return value if size <= MAX_VALUE else f"({size:,} characters of JSON)"


def delete_expired() -> None:
    """Delete the lines that are older than ``AUDIT_RETENTION_DAYS``, in batches."""
    oldest = timezone.now() - timedelta(days=settings.AUDIT_RETENTION_DAYS)
    while _delete(AuditEvent.objects.filter(at__lt=oldest), BATCH):
        pass


def count_events(project_id: int, limit: int) -> int:
    """Return how many lines speak of rows of a project, counted up to ``limit``."""
    return AuditEvent.objects.filter(project_id=project_id)[:limit].count()


def purge_events(project_id: int, limit: int) -> int:
    """Delete at most ``limit`` lines about rows of a project, and return how many were found."""
    return _delete(AuditEvent.objects.filter(project_id=project_id), limit)


def _delete(events: Any, limit: int) -> int:
    keys = list(events.order_by("id").values_list("pk", flat=True)[:limit])
    AuditEvent.objects.filter(pk__in=keys).delete()
    return len(keys)
