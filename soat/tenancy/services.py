"""Creating users, and letting them in."""

import functools

from django.contrib.auth import password_validation
from django.contrib.auth.hashers import check_password, make_password
from django.core.exceptions import ValidationError as PasswordRefused
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from soat.audit.services import record
from soat.core.db import short_transaction
from soat.core.errors import Conflict, Forbidden, NotFound, Unauthorized, ValidationFailed
from soat.tenancy.models import Role, User
from soat.tenancy.throttles import forgive_attempts, note_attempt
from soat.tenancy.tokens import issue_jwt

_BOOTSTRAP_LOCK = 0x50A7_B007


@functools.cache
def _dummy_hash() -> str:
    return make_password("a password that nobody has")


def bootstrap_user(*, username: str, password: str) -> User:
    """Create the first admin. Raises ``Conflict`` when there is any user already."""
    _check_password(password)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_BOOTSTRAP_LOCK])
        if User.objects.exists():
            raise Conflict("There are users already.", code="BOOTSTRAP_ALREADY_COMPLETED")
        user = User.objects.create_user(username, password, Role.ADMIN)
        record("user", user.public_id, project_id=None, after={"username": username, "role": user.role})
        return user


def log_in(*, username: str, password: str, address: str) -> tuple[User, str]:
    """Return the user and a fresh JWT.

    Raises ``Unauthorized``, where an unknown name costs as much time as a wrong password, and
    ``TooManyRequests`` after too many failures of this name or from this ``address``.
    """
    note_attempt(username=username, address=address)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        check_password(password, _dummy_hash())
        raise Unauthorized("The username or the password is wrong.")
    if not user.check_password(password):
        raise Unauthorized("The username or the password is wrong.")
    forgive_attempts(username=username, address=address)
    return user, issue_jwt(user)


def create_user(*, username: str, password: str, role: str = Role.USER) -> User:
    """Create a user. Raises ``ValidationFailed`` for a weak password and ``Conflict`` for a username that is taken."""
    _check_password(password)
    try:
        with transaction.atomic():
            user = User.objects.create_user(username, password, role)
            record("user", user.public_id, project_id=None, after={"username": username, "role": role})
            return user
    except IntegrityError:
        raise Conflict("The username is taken.", meta={"fields": {"username": "is taken."}}) from None


def delete_user(*, user: User) -> None:
    """Delete a user with its keys and sessions.

    Raises ``Forbidden`` for the last admin that can log in, ``NotFound`` and ``ServiceUnavailable``.
    """
    with short_transaction():
        # Locked in one order, so that two admins who delete each other at once leave one. The user's own
        # lock keeps others from making a key for it meanwhile.
        involved = Q(pk=user.pk) | Q(is_superuser=True, is_active=True)
        locked = {row.pk: row for row in User.objects.select_for_update().filter(involved).order_by("pk")}
        going = locked.pop(user.pk, None)
        if going is None:
            raise NotFound("There is no such user.")
        if going.is_superuser and not locked:
            raise Forbidden("This is the last admin: make another one first.")
        record("user", going.public_id, project_id=None, before={"username": going.username, "role": going.role})
        going.delete()


def assign_role(user: User, role: str) -> None:
    """Set a user's role and what follows from it; the caller saves."""
    user.role = role
    user.is_superuser = role == Role.ADMIN
    user.updated_at = timezone.now()


def _check_password(password: str) -> None:
    try:
        password_validation.validate_password(password)
    except PasswordRefused as error:
        message = " ".join(error.messages)
        raise ValidationFailed(f"password: {message}", meta={"fields": {"password": message}}) from None
