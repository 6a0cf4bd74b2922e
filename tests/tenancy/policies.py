"""Callers with policies of their own, for tests of every app."""

from typing import Any

from rest_framework.test import APIClient

from soat.tenancy.keys import create_api_key
from soat.tenancy.models import ApiKey, Policy, Project, User
from soat.tenancy.tokens import issue_jwt
from tests.conftest import client_with


def allow(*actions: str, on: str = "*", **condition: Any) -> dict[str, Any]:
    """Return a statement that allows."""
    made: dict[str, Any] = {"effect": "Allow", "action": list(actions or ("*",)), "resource": [on]}
    return {**made, "condition": condition} if condition else made


def deny(*actions: str, on: str = "*", **condition: Any) -> dict[str, Any]:
    """Return a statement that denies."""
    return {**allow(*actions, on=on, **condition), "effect": "Deny"}


def policy(*statements: dict[str, Any]) -> Policy:
    """Store a policy."""
    return Policy.objects.create(name="p", document={"statement": list(statements)})


def user_with(*statements: dict[str, Any], username: str = "worker") -> User:
    """Store a user, with one policy of these statements if there are any."""
    user = User.objects.create_user(username)
    if statements:
        user.policies.add(policy(*statements))
    return user


def session_of(user: User) -> APIClient:
    """Return a client with a token of the user."""
    return client_with(issue_jwt(user))


def caller_with(*statements: dict[str, Any]) -> APIClient:
    """Return a client whose user has one policy of these statements."""
    return session_of(user_with(*statements))


def key_with(user: User, *statements: dict[str, Any], project: Project | None = None) -> tuple[ApiKey, APIClient]:
    """Store a key of the user, with a policy of its own if there are statements, and return a client with it."""
    key, secret = create_api_key(user_id=user.pk, name="k", project=project)
    if statements:
        key.policies.add(policy(*statements))
        key.is_restricted = True
        key.save(update_fields=["is_restricted"])
    return key, client_with(secret)
