"""How the web server runs: ``gunicorn --config python:soat.gunicorn soat.wsgi:application``.

Threads, because a request mostly waits for the database. On SIGTERM the server takes no more
requests and finishes those it has, for at most ``WEB_GRACEFUL_SECONDS``.
"""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soat.settings")

from django.conf import settings

bind = settings.WEB_BIND
worker_class = "soat.operations.web_worker.EnvelopeWorker"
workers = settings.WEB_WORKERS
threads = settings.WEB_THREADS
graceful_timeout = settings.WEB_GRACEFUL_SECONDS
timeout = 60
# The longest line that it reads; beyond that its worker answers 414.
limit_request_line = 8_190
# Longer than a proxy in front keeps its connections, so that it never writes into one that has just been closed.
keepalive = 75
control_socket_disable = True
# The line about a request is written by soat.operations.middleware, which knows more and shows no query.
accesslog = None
logconfig_dict = settings.LOGGING


def on_starting(server: Any) -> None:
    """Clear away what earlier processes have counted."""
    from soat.operations import process_metrics  # noqa: PLC0415  (prometheus_client comes after the settings)

    process_metrics.make_folder()
    process_metrics.fold_ended_processes()


def post_worker_init(worker: Any) -> None:
    """Say what is missing, once the application is loaded."""
    from embeddings.startup import warn_unless_ready  # noqa: PLC0415  (apps are loaded only now)

    warn_unless_ready()


def child_exit(server: Any, worker: Any) -> None:
    """Keep the numbers of a process that has ended."""
    from soat.operations import process_metrics  # noqa: PLC0415

    process_metrics.fold_ended_processes()
