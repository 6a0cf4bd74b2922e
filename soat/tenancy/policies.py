"""Creating, changing and attaching policies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from soat.audit.services import record
from soat.core.db import short_transaction
from soat.core.errors import NotFound, ValidationFailed
from soat.engine.policy import PolicyRefused, parse_policy
from soat.tenancy.access import Access
from soat.tenancy.models import ApiKey, Policy, User

NO_POLICY = "There is no such policy."


def check_document(document: Mapping[str, Any]) -> None:
    """Raise ``ValidationFailed``, naming the place, unless ``document`` is a policy."""
    try:
        parse_policy(document)
    except PolicyRefused as error:
        raise ValidationFailed(str(error), meta={"fields": {error.path: error.message}}) from None


def create_policy(*, name: str | None, description: str | None, document: dict[str, Any]) -> Policy:
    """Store a policy, attached to nobody. Raises ``ValidationFailed``."""
    check_document(document)
    values = {"name": name, "description": description, "document": document}
    with transaction.atomic():
        policy = Policy.objects.create(**values)
        record("policy", policy.public_id, project_id=None, after=values)
    return policy


def update_policy(*, policy: Policy, changes: Mapping[str, Any]) -> Policy:
    """Change a policy; it counts for whoever has it from the next request on.

    Raises ``ValidationFailed``, ``NotFound`` for a policy that is gone, and ``ServiceUnavailable``.
    """
    if "document" in changes:
        check_document(changes["document"])
    with short_transaction():
        locked = _locked(policy)
        changed = {field: value for field, value in changes.items() if getattr(locked, field) != value}
        before = {field: getattr(locked, field) for field in changed}
        for field, value in changed.items():
            setattr(locked, field, value)
        if changed:
            locked.updated_at = timezone.now()
            locked.save(update_fields=[*changed, "updated_at"])
            record("policy", locked.public_id, project_id=None, before=before, after=changed)
    return locked


def _locked(policy: Policy) -> Policy:
    """Hold a policy's row: whoever is attaching it has to wait, and then finds it or finds it gone."""
    locked = Policy.objects.select_for_update().filter(pk=policy.pk).first()
    if locked is None:
        raise NotFound(NO_POLICY)
    return locked


def delete_policy(*, policy: Policy) -> None:
    """Delete a policy. Its users lose what it granted; a key that had it keeps being restricted.

    Raises ``NotFound`` and ``ServiceUnavailable``.
    """
    with short_transaction():
        locked = _locked(policy)
        before = {"name": locked.name, "document": locked.document}
        record("policy", locked.public_id, project_id=None, before=before)
        locked.delete()


def named_policies(access: Access, public_ids: Sequence[str]) -> list[Policy]:
    """Return the policies of these ids in their order, each once.

    ``access`` is for reading policies. Raises ``ValidationFailed`` (``POLICY_NOT_FOUND``) for one that is
    unknown or may not be read.
    """
    wanted = list(dict.fromkeys(public_ids))
    found = {policy.public_id: policy for policy in access.rows(Policy.objects.filter(public_id__in=wanted))}
    missing = [public_id for public_id in wanted if public_id not in found]
    if missing:
        raise ValidationFailed(
            "policy_ids names a policy that does not exist.",
            code="POLICY_NOT_FOUND",
            meta={"fields": {"policy_ids": "names a policy that does not exist."}},
        )
    return [found[public_id] for public_id in wanted]


def attach_user_policies(*, user: User, policies: Iterable[Policy]) -> None:
    """Replace the policies of a user. Raises ``NotFound`` for a user that is gone, and ``ServiceUnavailable``."""
    with short_transaction():
        if not User.objects.select_for_update(no_key=True).filter(pk=user.pk).exists():
            raise NotFound("There is no such user.")
        before = sorted(user.policies.values_list("public_id", flat=True))
        wanted = list(policies)
        after = sorted(policy.public_id for policy in wanted)
        if before != after:
            replace_policies(user, wanted)
            record("user", user.public_id, project_id=None, before={"policy_ids": before}, after={"policy_ids": after})


def replace_policies(holder: User | ApiKey, policies: Iterable[Policy]) -> None:
    """Replace the policies of a user or a key, whose row the caller holds; their order is kept."""
    holder.policies.clear()
    attached: Any = type(holder).policies.through
    holder_id = "user_id" if isinstance(holder, User) else "apikey_id"
    attached.objects.bulk_create(attached(**{holder_id: holder.pk, "policy": policy}) for policy in policies)
