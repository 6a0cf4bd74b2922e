"""Bearer authentication: a JWT or an API key, one query each, which brings the policies along."""

import json
import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db import DEFAULT_DB_ALIAS
from django.db.models import F, Func, JSONField, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import JSONObject
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from soat.core.errors import Unauthorized
from soat.engine.policy import Effect, PolicyRefused, PolicySet, ResourcePattern, Statement, parse_policy
from soat.tenancy.access import Caller
from soat.tenancy.composed import ComposedQuery, first_row
from soat.tenancy.models import ApiKey, Policy, Project, User
from soat.tenancy.tokens import KEY_PREFIX, hash_api_key, read_jwt

logger = logging.getLogger(__name__)

LAST_USE_GRANULARITY = timedelta(minutes=1)
_DENY_ALL = Statement(Effect.DENY, ("*",), (ResourcePattern(),), ())


class BearerAuthentication(BaseAuthentication):
    """Turn ``Authorization: Bearer …`` into a user and a ``Caller`` (``request.auth``)."""

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:
        """Return the principal, or None without the header. Raises ``Unauthorized`` for a bad one."""
        scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if not scheme:
            return None
        token = token.strip()
        if scheme.lower() != "bearer" or not token or not token.isascii():
            raise Unauthorized("The Authorization header must be: Bearer <token>.")
        return _by_key(token) if token.startswith(KEY_PREFIX) else _by_jwt(token)

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme, so that a missing credential is answered with 401."""
        return "Bearer"


_USER = tuple(field.attname for field in User._meta.concrete_fields)  # noqa: SLF001  (Django's own public name)
_KEY = ("pk", "public_id", "name", "project_id", "is_restricted", "rate_limit", "last_used_at")


def _keys(**known: Any) -> QuerySet[ApiKey, Any]:
    return (
        ApiKey.objects.filter(**known)
        .annotate(
            user_policies=_documents(Policy.objects.filter(users=OuterRef("user_id"))),
            own_policies=_documents(Policy.objects.filter(api_keys=OuterRef("pk"))),
            deleted_projects=_deleted_projects(),
            named_projects=_named_projects(
                Policy.objects.filter(Q(users=OuterRef(OuterRef("user_id"))) | Q(api_keys=OuterRef(OuterRef("pk"))))
            ),
        )
        .values_list(
            *(f"user__{name}" for name in _USER),
            *_KEY,
            *("project__public_id", "user_policies", "own_policies", "deleted_projects", "named_projects"),
        )
    )


def _users(**known: Any) -> QuerySet[User, Any]:
    return (
        User.objects.filter(is_active=True, **known)
        .annotate(
            user_policies=_documents(Policy.objects.filter(users=OuterRef("pk"))),
            deleted_projects=_deleted_projects(),
            named_projects=_named_projects(Policy.objects.filter(users=OuterRef(OuterRef("pk")))),
        )
        .values_list(*_USER, "user_policies", "deleted_projects", "named_projects")
    )


_KEY_BY_HASH = ComposedQuery(lambda key_hash: _keys(key_hash=key_hash), b"any hash")
_USER_BY_CLAIMS = ComposedQuery(
    lambda public_id, epoch: _users(public_id=public_id, token_epoch=epoch), "any public id", 2**31 - 1
)


def _by_key(token: str) -> tuple[User, Caller]:
    row = _KEY_BY_HASH.first(hash_api_key(token))
    found = _holder_of_key(row) if row else None
    if row is None or found is None:
        raise Unauthorized("The API key is not valid.")
    key = _key(row)
    _note_use(key["pk"], key["last_used_at"])
    return found


def _by_jwt(token: str) -> tuple[User, Caller]:
    claims = read_jwt(token)
    row = _USER_BY_CLAIMS.first(*claims) if claims else None
    if row is None:
        raise Unauthorized("The token is not valid, or no longer.")
    return _holder_of_session(row)


def present_caller(*, user_id: int, key_id: int | None) -> tuple[User, Caller] | None:
    """Return what somebody who asked for something earlier is now, None when the user or the key is gone.

    ``key_id`` is that of the key that the user came with, None for a session.
    """
    if key_id is None:
        row = first_row(_users(pk=user_id))
        return _holder_of_session(row) if row else None
    row = first_row(_keys(pk=key_id, user_id=user_id))
    return _holder_of_key(row) if row else None


def _key(row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(_KEY, row[len(_USER) :], strict=False))


def _holder_of_key(row: Sequence[Any]) -> tuple[User, Caller] | None:
    """Return who a row of ``_keys`` speaks of, None where the key or its user counts no more."""
    user, rest = _user(row)
    key = _key(row)
    project, user_policies, own_policies, deleted_projects, named_projects = rest[len(_KEY) :]
    if key["project_id"] in deleted_projects or not user.is_active:
        return None
    sets = [] if user.is_superuser else [_statements(user_policies)]
    if key["is_restricted"]:
        sets.append(_statements(own_policies))
    return user, Caller(
        user_id=user.pk,
        user_public_id=user.public_id,
        is_admin=not sets,
        key_public_id=key["public_id"],
        project_id=key["project_id"],
        project_public_id=project,
        is_restricted=key["is_restricted"],
        policies=tuple(sets),
        known_projects=_known(named_projects),
        deleted_projects=tuple(deleted_projects),
        rate_limit=key["rate_limit"],
        key_name=key["name"],
    )


def _holder_of_session(row: Sequence[Any]) -> tuple[User, Caller]:
    user, (user_policies, deleted_projects, named_projects) = _user(row)
    return user, Caller(
        user_id=user.pk,
        user_public_id=user.public_id,
        is_admin=user.is_superuser,
        policies=() if user.is_superuser else (_statements(user_policies),),
        known_projects=_known(named_projects),
        deleted_projects=tuple(deleted_projects),
    )


def _user(row: Sequence[Any]) -> tuple[User, Sequence[Any]]:
    """Return the user that a row begins with, and what follows."""
    return User.from_db(DEFAULT_DB_ALIAS, _USER, row[: len(_USER)]), row[len(_USER) :]


def _documents(policies: QuerySet[Policy]) -> ArraySubquery:
    return ArraySubquery(policies.order_by("pk").values("document"))


def _deleted_projects() -> ArraySubquery:
    return ArraySubquery(Project.objects.exclude(deleting_at=None).order_by("pk").values("pk"))


def _named_projects(policies: QuerySet[Policy]) -> ArraySubquery:
    """Return a subquery for the keys of the projects that the policies, two queries further out, name."""
    resources = Func(
        F("document"),
        function="jsonb_path_query",
        template="%(function)s(%(expressions)s, '$.statement[*].resource[*]')",
        output_field=JSONField(),
    )
    named = policies.annotate(srn=resources).values(project=_project_of("srn"))
    projects = Project.objects.filter(public_id__in=named)
    return ArraySubquery(projects.order_by("pk").values(pair=JSONObject(id="public_id", pk="pk")))


def _project_of(field: str) -> Func:
    """Return the second part of an ``srn:…`` in a JSON column."""
    return Func(F(field), template="split_part(%(expressions)s #>> '{}', ':', 2)", output_field=TextField())


def _known(pairs: Iterable[str]) -> dict[str, int]:
    return {pair["id"]: pair["pk"] for pair in map(json.loads, pairs)}


def _statements(documents: Iterable[str]) -> PolicySet:
    """Return the statements of stored documents, given as JSON; one that cannot be read denies everything."""
    statements: list[Statement] = []
    for document in documents:
        try:
            statements.extend(parse_policy(json.loads(document)))
        except PolicyRefused:
            logger.exception("A stored policy cannot be read, so it denies everything")
            statements.append(_DENY_ALL)
    return tuple(statements)


def _note_use(key: int, last_used_at: datetime | None) -> None:
    """Keep the time of last use, written at most once a minute whatever the traffic."""
    now = timezone.now()
    if last_used_at is None or now - last_used_at > LAST_USE_GRANULARITY:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USE_GRANULARITY)
        ApiKey.objects.filter(stale, pk=key).update(last_used_at=now)
