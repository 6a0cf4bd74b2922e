"""Creating, changing and attaching policies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from soat.core.errors import ValidationFailed
from soat.engine.policy import PolicyRefused, parse_policy
from soat.tenancy.access import Access
from soat.tenancy.models import Policy, User


def check_document(document: Mapping[str, Any]) -> None:
    """Raise ``ValidationFailed``, naming the place, unless ``document`` is a policy."""
    try:
        parse_policy(document)
    except PolicyRefused as error:
        raise ValidationFailed(str(error), meta={"fields": {error.path: error.message}}) from None


def create_policy(*, name: str | None, description: str | None, document: dict[str, Any]) -> Policy:
    """Store a policy, attached to nobody. Raises ``ValidationFailed``."""
    check_document(document)
    return Policy.objects.create(name=name, description=description, document=document)


def update_policy(*, policy: Policy, changes: Mapping[str, Any]) -> Policy:
    """Change a policy; it counts for whoever has it from the next request on. Raises ``ValidationFailed``."""
    if "document" in changes:
        check_document(changes["document"])
    for field, value in changes.items():
        setattr(policy, field, value)
    if changes:
        policy.updated_at = timezone.now()
        policy.save(update_fields=[*changes, "updated_at"])
    return policy


def delete_policy(*, policy: Policy) -> None:
    """Delete a policy. Its users lose what it granted; a key that had it keeps being restricted."""
    policy.delete()


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
    """Replace the policies of a user."""
    with transaction.atomic():
        user.policies.set(list(policies), clear=True)
