"""API keys."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import OuterRef, QuerySet
from django.utils import timezone

from soat.audit.services import record
from soat.core.db import short_transaction
from soat.core.errors import Forbidden, NotFound
from soat.tenancy.access import Access, Caller
from soat.tenancy.models import ApiKey, Policy, Project
from soat.tenancy.policies import replace_policies
from soat.tenancy.tokens import KEY_PREFIX_SHOWN, hash_api_key, new_api_key

NO_KEY = "There is no such API key."


def create_api_key(
    *,
    user_id: int,
    name: str,
    project: Project | None,
    policies: Sequence[Policy] | None = None,
    rate_limit: int | None = None,
) -> tuple[ApiKey, str]:
    """Create a key and return it with its secret, which is not stored and cannot be shown again.

    ``policies`` None or empty: the key may do what its user may. ``rate_limit`` None: that of the server.
    """
    secret = new_api_key()
    with transaction.atomic():
        key = ApiKey.objects.create(
            user_id=user_id,
            project=project,
            name=name,
            is_restricted=bool(policies),
            rate_limit=rate_limit,
            key_prefix=secret[:KEY_PREFIX_SHOWN],
            key_hash=hash_api_key(secret),
        )
        replace_policies(key, policies or ())
        record("api-key", key.public_id, project_id=key.project_id, after=_audited(key))
    return key, secret


def update_api_key(*, key: ApiKey, changes: Mapping[str, Any]) -> ApiKey:
    """Rename a key, bind it to another project (``project`` None: to none) or replace its ``policies``.

    Raises ``NotFound`` for a key that is gone, and ``ServiceUnavailable``.
    """
    fields = dict(changes)
    policies: Sequence[Policy] | None = fields.pop("policies", None)
    if policies is not None:
        fields["is_restricted"] = bool(policies)
    with short_transaction():
        locked = _locked(key)
        before = _audited(locked)
        if policies is not None:
            replace_policies(locked, policies)
        for field, value in fields.items():
            setattr(locked, field, value)
        after = _audited(locked)
        changed = [name for name in after if after[name] != before[name]]
        if changed:
            locked.updated_at = timezone.now()
            locked.save(update_fields=[*fields, "updated_at"])
            record(
                "api-key",
                locked.public_id,
                project_id=locked.project_id,
                before={name: before[name] for name in changed},
                after={name: after[name] for name in changed},
            )
    return locked


def _locked(key: ApiKey) -> ApiKey:
    rows = ApiKey.objects.select_for_update(of=("self",)).select_related("project")
    locked = rows.filter(pk=key.pk).first()
    if locked is None:
        raise NotFound(NO_KEY)
    return locked


def _audited(key: ApiKey) -> dict[str, Any]:
    """Return what the audit trail says of a key: never its secret or its hash."""
    return {
        "name": key.name,
        "project_id": key.project.public_id if key.project else None,
        "policy_ids": [policy.public_id for policy in policies_of_key(key.public_id)],
        "is_restricted": key.is_restricted,
        "rate_limit": key.rate_limit,
    }


def delete_api_key(*, key: ApiKey) -> None:
    """Revoke a key: the next request with it is refused. Raises ``NotFound`` and ``ServiceUnavailable``."""
    with short_transaction():
        locked = _locked(key)
        record("api-key", locked.public_id, project_id=locked.project_id, before=_audited(locked))
        locked.delete()


def policies_of_key(public_id: str) -> list[Policy]:
    """Return the policies of a key in the order in which they were attached."""
    attached = ApiKey.policies.through.objects.filter(apikey__public_id=public_id)
    return [row.policy for row in attached.select_related("policy").order_by("pk")]


def own_keys(caller: Caller) -> QuerySet[ApiKey]:
    """Return the caller's keys (for an admin all), newest first, with the ids of their policies."""
    attached = ApiKey.policies.through.objects.filter(apikey=OuterRef("pk")).order_by("pk")
    keys = ApiKey.objects.select_related("user", "project").order_by("-created_at", "-id")
    keys = keys.annotate(policy_ids=ArraySubquery(attached.values("policy__public_id")))
    return keys if caller.is_admin else keys.filter(user_id=caller.user_id)


def reread_key(caller: Caller, key: ApiKey) -> ApiKey:
    """Return a key as ``own_keys`` reads it. Raises ``NotFound`` for one that has just been deleted."""
    row = own_keys(caller).filter(pk=key.pk).first()
    if row is None:
        raise NotFound(NO_KEY)
    return row


def visible_api_keys(access: Access) -> QuerySet[ApiKey]:
    """Return those of ``own_keys`` on which the action is allowed."""
    return access.rows(own_keys(access.caller))


def visible_api_key(access: Access, public_id: str) -> ApiKey:
    """Return one of ``own_keys`` for the action of ``access``. Raises ``NotFound`` and ``Forbidden``."""
    return access.get(own_keys(access.caller), public_id, NO_KEY)


def require_same_binding(caller: Caller, key: ApiKey, project: Project | None) -> None:
    """Raise ``Forbidden`` when a key with policies of its own would bind a key anew.

    Whoever holds both could use the one to let the other out of its project.
    """
    if caller.is_restricted and key.project != project:
        raise Forbidden("A key with policies of its own cannot bind a key to another project.")


def granted_policies(
    caller: Caller, named: Sequence[Policy] | None, current: Sequence[str] | None
) -> list[Policy] | None:
    """Return the policies that a key may be given, None to leave them as they are.

    A key with policies of its own cannot make a wider one: what it makes has exactly its policies, and it
    changes those of no key. ``current`` are the ids that the key has, None for a new one. Raises ``Forbidden``.
    """
    if not caller.is_restricted:
        return None if named is None else list(named)
    own = policies_of_key(caller.key_public_id or "")
    wanted = {policy.public_id for policy in named} if named is not None else None
    if current is not None:
        if wanted is None or wanted == set(current):
            return None
        raise Forbidden("A key with policies of its own cannot change those of a key.")
    if not own or (wanted is not None and wanted != {policy.public_id for policy in own}):
        raise Forbidden("A key with policies of its own only makes keys with the same ones.")
    return own
