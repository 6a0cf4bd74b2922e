"""Transactions with bounded waits, connections that go back in time, and errors that callers can act on."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg import errors as pg

from soat.core.errors import ServiceUnavailable


@contextmanager
def short_transaction(*, wait_ms: int | None = None) -> Iterator[None]:
    """Open an outermost transaction whose locks are waited for at most ``wait_ms``, else ``LOCK_TIMEOUT_MS``.

    Raises ``ServiceUnavailable`` (503, ``RESOURCE_BUSY``, with ``Retry-After``) when a lock was not
    had in time or a deadlock was broken up, so that no request hangs behind another.
    """
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = {int(wait_ms or settings.LOCK_TIMEOUT_MS)}")
            yield
    except OperationalError as error:
        if isinstance(error.__cause__, pg.LockNotAvailable | pg.DeadlockDetected):
            raise ServiceUnavailable("The row is being changed by others; try again shortly.", retry_after=1) from error
        raise


def give_back_connection() -> None:
    """Let others have this thread's connection while it waits for something else; the next query takes another.

    Within a transaction it stays.
    """
    if not connection.in_atomic_block:
        connection.close()


def violated_constraint(error: IntegrityError) -> str:
    """Return the name of the constraint that ``error`` reports, or an empty string."""
    cause = error.__cause__
    return (cause.diag.constraint_name or "") if isinstance(cause, pg.Error) else ""
