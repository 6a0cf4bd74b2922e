"""How often somebody may try a password, and how often a key may ask."""

import hashlib
import logging
import math
import threading
import time
import unicodedata
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from soat.core.errors import TooManyRequests
from soat.tenancy.access import Caller
from soat.tenancy.models import LoginAttempts

logger = logging.getLogger(__name__)

FREE_PER_ACCOUNT = 5
FREE_PER_ADDRESS = 30
"""So many failures cost nothing; each further one doubles the pause before the next attempt."""

LONGEST_PAUSE = timedelta(minutes=15)
FORGOTTEN_AFTER = timedelta(hours=1)
MINUTE = 60
REST_SECONDS = 5
# A thread takes a connection for a moment only, but no thread may be left without one.
_IMPATIENT = {"socket_timeout": 0.5, "socket_connect_timeout": 0.5, "max_connections": 1_000, "max_retries": 1}


def note_attempt(*, username: str, address: str) -> None:
    """Count a login as failed until it succeeds. Raises ``TooManyRequests`` while a pause lasts.

    It is counted before the password is looked at, under a lock, so that many attempts at once are no way
    around. Known and unknown names are treated alike.
    """
    now = timezone.now()
    with transaction.atomic():
        left = max(_counted(subject, free, now) for subject, free in _subjects(username, address))
        if left > timedelta():
            # What is refused is not counted, neither for the account nor for the address: else whoever goes on
            # asking would keep the pause of somebody else from ending.
            seconds = math.ceil(left.total_seconds())
            raise TooManyRequests(f"Too many failed logins: try again in {seconds} seconds.", retry_after=seconds)


def forgive_attempts(*, username: str, address: str) -> None:
    """Forget the failures of an account that has logged in, and the attempt that succeeded for its address."""
    (account, _), *rest = _subjects(username, address)
    LoginAttempts.objects.filter(subject=account).delete()
    for subject, _ in rest:
        with transaction.atomic():
            row = LoginAttempts.objects.select_for_update().filter(subject=subject, failures__gt=0).first()
            if row is not None:
                row.failures -= 1
                row.blocked_until = None
                row.save(update_fields=["failures", "blocked_until"])


def forget_attempts() -> None:
    """Delete what no longer counts."""
    LoginAttempts.objects.filter(last_at__lt=timezone.now() - FORGOTTEN_AFTER).delete()


def _counted(subject: bytes, free: int, now: datetime) -> timedelta:
    """Return how long this attempt has to wait; one that need not is counted."""
    row = _held(subject, now)
    if row.blocked_until is not None and row.blocked_until > now:
        return row.blocked_until - now
    if now - row.last_at > FORGOTTEN_AFTER:
        row.failures = 0
    row.failures += 1
    row.last_at = now
    row.blocked_until = now + pause_after(row.failures, free) if row.failures > free else None
    row.save(update_fields=["failures", "last_at", "blocked_until"])
    return timedelta()


def _held(subject: bytes, now: datetime) -> LoginAttempts:
    """Return the row of a subject, locked; in one statement, since a login that succeeds may delete it any time."""
    rows = LoginAttempts.objects.raw(
        "INSERT INTO tenancy_loginattempts (subject, failures, last_at) VALUES (%s, 0, %s)"
        " ON CONFLICT (subject) DO UPDATE SET subject = EXCLUDED.subject"
        " RETURNING id, subject, failures, last_at, blocked_until",
        [subject, now],
    )
    return rows[0]


def pause_after(failures: int, free: int) -> timedelta:
    """Return the pause after so many failures: none while they are free, then 1, 2, 4 … seconds."""
    excess = failures - free
    if excess <= 0:
        return timedelta()
    return min(timedelta(seconds=2 ** min(excess - 1, 30)), LONGEST_PAUSE)


def _subjects(username: str, address: str) -> list[tuple[bytes, int]]:
    account = unicodedata.normalize("NFC", username)[:150]
    found = [(_hashed(f"account {account}"), FREE_PER_ACCOUNT)]
    if address:
        # Whoever has one address of IPv6 has a whole network of them.
        network = ip_network(f"{address}/{64 if ':' in address else 32}", strict=False)
        found.append((_hashed(f"address {network}"), FREE_PER_ADDRESS))
    return found


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def count_request(caller: Caller) -> dict[str, str]:
    """Count a request against its caller's limit, and return the headers that say how much is left.

    Counted per key, or per user for sessions, in the broker's Redis, so all processes together; where that
    does not answer, the request is let in. Raises ``TooManyRequests``.
    """
    limit = caller.rate_limit if caller.rate_limit is not None else settings.RATE_LIMIT_PER_MINUTE
    if not limit:
        return {}
    now = _seconds()
    left = MINUTE - now % MINUTE
    count = _tally.add(f"soat:requests:{caller.key_public_id or caller.user_public_id}:{now // MINUTE}")
    if count is None:
        return {}
    headers = {
        "RateLimit-Limit": str(limit),
        "RateLimit-Remaining": str(max(limit - count, 0)),
        "RateLimit-Reset": str(left),
    }
    if count > limit:
        raise TooManyRequests(
            f"More than {limit} requests in this minute: wait {left} seconds.", retry_after=left, headers=headers
        )
    return headers


class Tally:
    """Counters in the broker, reached as Celery reaches it: several servers, a sentinel, a socket, TLS.

    After a failure it is left alone for a while, so that a broker that hangs does not hold up every request,
    and does not fill the log.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._redis: Any = None
        self._rests_until = 0.0

    def add(self, name: str) -> int | None:
        """Add one to a counter that lasts for the minute, and return it; None when that cannot be done now."""
        if time.monotonic() < self._rests_until:
            return None
        try:
            with self._client().pipeline() as pipe:
                pipe.incr(name)
                pipe.expire(name, 2 * MINUTE)
                return int(pipe.execute()[0])
        except (OSError, ValueError, KombuError, RedisError) as error:
            self.reset()
            self._rests_until = time.monotonic() + REST_SECONDS
            logger.warning("For %d s requests are not counted, the broker does not answer: %s", REST_SECONDS, error)
            return None

    def reset(self) -> None:
        """Forget the connections; the next counter makes new ones, which may lead to another server.

        They are not closed here: other threads may be at work with them.
        """
        self._redis = None
        self._rests_until = 0.0

    def _client(self) -> Any:
        with self._lock:
            if self._redis is None:
                connection = current_app.connection_for_write(transport_options=_IMPATIENT)
                connection.ensure_connection(max_retries=1, interval_start=0, interval_max=0)
                channel: Any = connection.default_channel
                self._redis = channel.client
            return self._redis


_tally = Tally()


def _seconds() -> int:
    return int(time.time())
