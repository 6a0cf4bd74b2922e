"""Bearer authentication: a JWT or an API key, one query each, which brings the policies along."""

import functools
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, Func, JSONField, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import JSONObject
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from soat.core.errors import Unauthorized
from soat.engine.policy import Effect, PolicyRefused, PolicySet, ResourcePattern, Statement, parse_policy
from soat.tenancy.access import Caller
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


@functools.cache
def _keys() -> QuerySet[ApiKey]:
    """Return keys with all that their policies say. Putting this together takes longer than asking the database."""
    return ApiKey.objects.select_related("user", "project").annotate(
        user_policies=_documents(Policy.objects.filter(users=OuterRef("user_id"))),
        own_policies=_documents(Policy.objects.filter(api_keys=OuterRef("pk"))),
        deleted_projects=_deleted_projects(),
        named_projects=_named_projects(
            Policy.objects.filter(Q(users=OuterRef(OuterRef("user_id"))) | Q(api_keys=OuterRef(OuterRef("pk"))))
        ),
    )


def _by_key(token: str) -> tuple[User, Caller]:
    key = _keys().filter(key_hash=hash_api_key(token)).first()
    is_gone = key is not None and key.project_id in key.deleted_projects
    if key is None or is_gone or not key.user.is_active:
        raise Unauthorized("The API key is not valid.")
    _note_use(key)
    sets = [] if key.user.is_superuser else [_statements(key.user_policies)]
    if key.is_restricted:
        sets.append(_statements(key.own_policies))
    return key, Caller(
        user_id=key.user.pk,
        user_public_id=key.user.public_id,
        is_admin=not sets,
        key_public_id=key.public_id,
        project_id=key.project_id,
        project_public_id=key.project.public_id if key.project else None,
        is_restricted=key.is_restricted,
        policies=tuple(sets),
        known_projects=_known(key.named_projects),
        deleted_projects=tuple(key.deleted_projects),
        rate_limit=key.rate_limit,
        key_name=key.name,
    )


@functools.cache
def _users() -> QuerySet[User]:
    """Return users with all that their policies say."""
    return User.objects.annotate(
        user_policies=_documents(Policy.objects.filter(users=OuterRef("pk"))),
        deleted_projects=_deleted_projects(),
        named_projects=_named_projects(Policy.objects.filter(users=OuterRef(OuterRef("pk")))),
    )


def _by_jwt(token: str) -> tuple[User, Caller]:
    claims = read_jwt(token)
    user = _users().filter(public_id=claims[0], token_epoch=claims[1], is_active=True).first() if claims else None
    if user is None:
        return None
    return user, Caller(
        user_id=user.pk,
        user_public_id=user.public_id,
        is_admin=user.is_superuser,
        policies=() if user.is_superuser else (_statements(user.user_policies),),
        known_projects=_known(user.named_projects),
        deleted_projects=tuple(user.deleted_projects),
    )


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


def _known(pairs: Iterable[dict[str, Any]]) -> dict[str, int]:
    return {pair["id"]: pair["pk"] for pair in pairs}


def _statements(documents: Iterable[Any]) -> PolicySet:
    """Return the statements of stored documents; one that cannot be read denies everything."""
    statements: list[Statement] = []
    for document in documents:
        try:
            statements.extend(parse_policy(document))
        except PolicyRefused:
            logger.exception("A stored policy cannot be read, so it denies everything")
            statements.append(_DENY_ALL)
    return tuple(statements)


def _note_use(key: ApiKey) -> None:
    """Keep the time of last use, written at most once a minute whatever the traffic."""
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > LAST_USE_GRANULARITY:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USE_GRANULARITY)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
