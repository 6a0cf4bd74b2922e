"""Credentials: the JWT of a login and the hash of an API key."""

import hashlib
import secrets
from datetime import timedelta

import jwt
from django.conf import settings
from django.utils import timezone

from soat.tenancy.models import User

KEY_PREFIX = "sk_"
KEY_PREFIX_SHOWN = 8
_ALGORITHM = "HS256"


def new_api_key() -> str:
    """Return a fresh key: ``sk_`` and 64 hexadecimal digits (256 random bits)."""
    return KEY_PREFIX + secrets.token_hex(32)


def hash_api_key(key: str) -> bytes:
    """Return the 32 bytes under which a key is stored and found."""
    return hashlib.sha256(key.encode()).digest()


def issue_jwt(user: User) -> str:
    """Return a signed token for ``user`` that is valid for ``JWT_TTL_SECONDS`` and its current epoch."""
    now = timezone.now()
    claims = {
        "sub": user.public_id,
        "epoch": user.token_epoch,
        "iat": now,
        "exp": now + timedelta(seconds=settings.JWT_TTL_SECONDS),
    }
    return jwt.encode(claims, settings.SECRET_KEY, algorithm=_ALGORITHM)


def read_jwt(token: str) -> tuple[str, int] | None:
    """Return ``(user public id, epoch)`` of a valid token, or None."""
    try:
        claims = jwt.decode(
            token, settings.SECRET_KEY, algorithms=[_ALGORITHM], options={"require": ["sub", "epoch", "exp"]}
        )
    except jwt.InvalidTokenError:
        return None
    subject, epoch = claims["sub"], claims["epoch"]
    return (subject, epoch) if isinstance(subject, str) and isinstance(epoch, int) else None
