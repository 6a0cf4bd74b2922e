"""How a line of the log looks, and which lines there are.

Loaded while Django sets up its logging, so nothing here may import a model.
"""

import logging
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from soat.operations.context import caller

REQUEST_FIELDS = ("method", "operation", "status", "milliseconds")
"""What the line about a request has beside its message (``extra`` of ``logging``)."""

_QUIET = {
    # Each would show what is sent to somebody else: texts, keys, signatures.
    "boto3": "WARNING",
    "botocore": "WARNING",
    "s3transfer": "WARNING",
    "urllib3": "WARNING",
    "httpx": "WARNING",
    "httpcore": "WARNING",
    "openai": "WARNING",
    "django.db.backends": "INFO",
    "django.template": "INFO",
    # One line for a task is enough: the one at its end, which names the request that it comes from.
    "celery.worker.strategy": "WARNING",
    "celery.beat": "WARNING",
    "celery.utils.functional": "WARNING",
    "kombu": "WARNING",
    "django.request": "ERROR",
    "django.security.DisallowedHost": "CRITICAL",
    "pdfminer": "ERROR",
}


def logging_settings(*, level: str, style: str) -> dict[str, Any]:
    """Return Django's ``LOGGING``: everything to standard error, ``style`` is ``console`` or ``json``."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter, "style": style}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            **{name: {"level": at_least} for name, at_least in _QUIET.items()},
            # Both come with handlers of their own.
            **{name: {"level": level, "handlers": [], "propagate": True} for name in ("django", "gunicorn.error")},
        },
    }


def formatter(style: str) -> logging.Formatter:
    """Return a formatter that adds to every line, whoever wrote it, what it was written for."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        _add_caller,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(allow=REQUEST_FIELDS),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(style)],
    )


def _rendering(style: str) -> list[Processor]:
    if style == "json":
        # The plain traceback: one with local variables would show texts and keys.
        return [
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    return [
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
        )
    ]


def _add_caller(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    event.update(caller())
    return event
