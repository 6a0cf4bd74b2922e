"""How often somebody may try a password, and how often a key may ask."""

import functools
import hashlib
import logging
import time
import unicodedata
from datetime import datetime, timedelta
from ipaddress import ip_network

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from redis import Redis
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


def note_attempt(*, username: str, address: str) -> None:
    """Count a login as failed until it succeeds. Raises ``TooManyRequests`` while a pause lasts.

    It is counted before the password is looked at, under a lock, so that many attempts at once are no way
    around. Known and unknown names are treated alike.
    """
    now = timezone.now()
    with transaction.atomic():
        pauses = [_counted(subject, free, now) for subject, free in _subjects(username, address)]
    left = max(pauses, default=timedelta())
    if left > timedelta():
        seconds = int(left.total_seconds()) + 1
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
    LoginAttempts.objects.bulk_create([LoginAttempts(subject=subject, last_at=now)], ignore_conflicts=True)
    row = LoginAttempts.objects.select_for_update().get(subject=subject)
    if row.blocked_until is not None and row.blocked_until > now:
        return row.blocked_until - now
    if now - row.last_at > FORGOTTEN_AFTER:
        row.failures = 0
    row.failures += 1
    row.last_at = now
    row.blocked_until = now + pause_after(row.failures, free) if row.failures > free else None
    row.save(update_fields=["failures", "last_at", "blocked_until"])
    return timedelta()


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
    name = f"soat:requests:{caller.key_public_id or caller.user_public_id}:{now // MINUTE}"
    try:
        with _redis(settings.CELERY_BROKER_URL).pipeline() as pipe:
            pipe.incr(name)
            pipe.expire(name, 2 * MINUTE)
            count = int(pipe.execute()[0])
    except (RedisError, OSError, ValueError) as error:
        logger.warning("Requests are not counted, since the broker does not answer: %s", error)
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


@functools.cache
def _redis(broker_url: str) -> Redis:
    """Return a client of the broker. Raises ``ValueError`` for a broker that cannot be asked in this way."""
    url = broker_url.split(";", maxsplit=1)[0]
    if url.startswith("redis+socket://"):
        # Celery's spelling of a socket, and of the database behind it.
        url = url.replace("redis+socket://", "unix://", 1).replace("virtual_host=", "db=")
    return Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5)


def _seconds() -> int:
    return int(time.time())
