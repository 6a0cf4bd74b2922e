"""Bearer authentication: a JWT or an API key, one query each."""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from soat.core.errors import Unauthorized
from soat.tenancy.access import Caller
from soat.tenancy.models import ApiKey, User
from soat.tenancy.tokens import KEY_PREFIX, hash_api_key, read_jwt

LAST_USE_GRANULARITY = timedelta(minutes=1)


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


def _by_key(token: str) -> tuple[User, Caller]:
    key = ApiKey.objects.select_related("user", "project").filter(key_hash=hash_api_key(token)).first()
    if key is None or not key.user.is_active:
        raise Unauthorized("The API key is not valid.")
    _note_use(key)
    return key.user, Caller(
        user_id=key.user.pk,
        user_public_id=key.user.public_id,
        is_admin=key.user.is_superuser,
        key_public_id=key.public_id,
        project_id=key.project_id,
        project_public_id=key.project.public_id if key.project else None,
    )


def _by_jwt(token: str) -> tuple[User, Caller]:
    claims = read_jwt(token)
    user = User.objects.filter(public_id=claims[0], token_epoch=claims[1], is_active=True).first() if claims else None
    if user is None:
        raise Unauthorized("The token is not valid, or no longer.")
    return user, Caller(user_id=user.pk, user_public_id=user.public_id, is_admin=user.is_superuser)


def _note_use(key: ApiKey) -> None:
    """Keep the time of last use, written at most once a minute whatever the traffic."""
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > LAST_USE_GRANULARITY:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USE_GRANULARITY)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
