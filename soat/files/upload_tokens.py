"""Uploads by somebody without a credential: one file, one use, a quarter of an hour."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from soat.audit.services import record
from soat.core.errors import Conflict, Gone, NotFound
from soat.files.models import UploadToken
from soat.tenancy.access import Caller
from soat.tenancy.authentication import present_caller
from soat.tenancy.models import ApiKey, Project, User

VALIDITY = timedelta(minutes=15)
REMEMBERED = timedelta(days=1)
"""For so long a token that is over is told apart from an unknown one."""


def issue_upload_token(
    *, caller: Caller, project: Project, prefix: str, filename: str | None, content_type: str | None
) -> tuple[str, datetime]:
    """Return a fresh token and when it expires; the token itself is not stored.

    Raises ``NotFound`` when the caller's key has just been deleted.
    """
    token = secrets.token_urlsafe(32)
    expires_at = timezone.now() + VALIDITY
    key = ApiKey.objects.filter(public_id=caller.key_public_id).first() if caller.key_public_id else None
    if caller.key_public_id and key is None:
        raise NotFound("There is no such API key.")
    with transaction.atomic():
        UploadToken.objects.create(
            token_hash=_hashed(token),
            project=project,
            user_id=caller.user_id,
            key=key,
            prefix=prefix,
            filename=filename or "",
            content_type=content_type or "",
            expires_at=expires_at,
        )
        allowed = {"upload_to": prefix, "filename": filename, "expires_at": expires_at}
        record("project", project.public_id, project_id=project.pk, after=allowed)
    return token, expires_at


def usable_token(token: str) -> UploadToken:
    """Return what a token is for.

    Raises ``NotFound`` (``UPLOAD_TOKEN_NOT_FOUND``), ``Conflict`` (``UPLOAD_TOKEN_USED``) and ``Gone``
    (``UPLOAD_TOKEN_EXPIRED``).
    """
    tokens = UploadToken.objects.select_related("project").filter(project__deleting_at=None)
    found = tokens.filter(token_hash=_hashed(token)).first()
    if found is None:
        raise _unknown()
    if found.used_at is not None:
        raise _used()
    if found.expires_at <= timezone.now():
        raise Gone("The upload token has expired: ask for another one.", code="UPLOAD_TOKEN_EXPIRED")
    return found


def maker_of(token: UploadToken) -> tuple[User, Caller]:
    """Return whoever asked for a token, with what they may do now. Raises ``NotFound`` when that is nobody any more."""
    found = present_caller(user_id=token.user_id, key_id=token.key_id) if token.user_id else None
    if found is None:
        raise _unknown()
    return found


def use_token(token: UploadToken) -> None:
    """Take the token, in the transaction that stores what it was for. Raises ``Conflict`` for one that is taken."""
    if not UploadToken.objects.filter(pk=token.pk, used_at=None).update(used_at=timezone.now()):
        raise _used()


def delete_old_tokens() -> None:
    """Delete the tokens that were over long ago."""
    UploadToken.objects.filter(expires_at__lt=timezone.now() - REMEMBERED).delete()


def _unknown() -> NotFound:
    return NotFound("There is no such upload token.", code="UPLOAD_TOKEN_NOT_FOUND")


def _used() -> Conflict:
    return Conflict("The upload token has been used.", code="UPLOAD_TOKEN_USED")


def _hashed(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
