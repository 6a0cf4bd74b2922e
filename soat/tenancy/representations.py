"""What users, projects, policies and keys look like on the wire."""

from typing import Any

from soat.core.models import wire_time
from soat.tenancy.models import ApiKey, Policy, Project, User


def represent_user(user: User) -> dict[str, Any]:
    """Return a ``UserRecord``."""
    return {
        "id": user.public_id,
        "username": user.username,
        "role": user.role,
        "created_at": wire_time(user.created_at),
        "updated_at": wire_time(user.updated_at),
    }


def represent_policy(policy: Policy) -> dict[str, Any]:
    """Return a ``PolicyRecord``; the document is as it was sent."""
    return {
        "id": policy.public_id,
        "name": policy.name,
        "description": policy.description,
        "document": policy.document,
        "created_at": wire_time(policy.created_at),
        "updated_at": wire_time(policy.updated_at),
    }


def represent_project(project: Project) -> dict[str, Any]:
    """Return a ``ProjectRecord``; a text-search configuration is in it where the project has one of its own."""
    own = {"text_search_config": project.text_search_config} if project.text_search_config else {}
    return {
        "id": project.public_id,
        "name": project.name,
        **own,
        "created_at": wire_time(project.created_at),
        "updated_at": wire_time(project.updated_at),
    }


def represent_api_key(key: ApiKey) -> dict[str, Any]:
    """Return an ``ApiKeyRecord`` of a key as ``own_keys`` reads it; the secret is not part of it."""
    return {
        "id": key.public_id,
        "name": key.name,
        "key_prefix": key.key_prefix,
        "user_id": key.user.public_id,
        "project_id": key.project.public_id if key.project else None,
        "policy_ids": key.policy_ids,  # type: ignore[attr-defined]  # annotated
        "created_at": wire_time(key.created_at),
        "updated_at": wire_time(key.updated_at),
    }
