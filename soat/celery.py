"""The Celery application. Tasks live in each app's ``tasks`` module."""

import os
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soat.settings")

app = Celery("soat")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.worker_init.connect
def _say_what_is_missing(**_: Any) -> None:
    from django.db import connection  # noqa: PLC0415

    from embeddings.startup import warn_unless_ready  # noqa: PLC0415  (apps are loaded only now)

    warn_unless_ready()
    connection.close_pool()  # type: ignore[attr-defined]  # PostgreSQL's own; the worker is about to fork
