"""What the broker says of itself, through Celery's own connection."""

import logging
from typing import Any

from celery import Task, current_app
from django.db import transaction
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

_BROKER_FAILURES = (OSError, KombuError, RedisError)


def queue_length(queue: str) -> int:
    """Return the number of messages that wait in ``queue``. Raises ``OSError`` or a broker error."""
    with current_app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, interval_start=0)
        channel: Any = connection.default_channel
        return int(channel.client.llen(queue))


def broker_answers() -> bool:
    """Tell whether the broker can be reached."""
    try:
        queue_length("default")
    except _BROKER_FAILURES as error:
        logger.warning("The broker does not answer: %s", error)
        return False
    return True


def publish_on_commit(task: "Task[..., None]", *args: object) -> None:
    """Publish a task once the transaction is committed.

    A broker that is down fails no request: the row says what is to be done, and the sweep publishes
    what was not taken.
    """

    def publish() -> None:
        try:
            task.apply_async(args, ignore_result=True)
        except _BROKER_FAILURES:
            logger.exception("The broker took no message for %s; the sweep will publish it again", task.name)

    transaction.on_commit(publish)
