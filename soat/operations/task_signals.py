"""What Celery tells of tasks and workers: the request goes along with the task, and its worker is counted."""

import logging
import time
from typing import Any

from celery import Task, signals
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from soat.operations import process_metrics, queues, worker_metrics

logger = logging.getLogger(__name__)

REQUEST_ID = "request_id"
_BEFORE = "soat_log_context"


def connect() -> None:
    """Listen; more than once changes nothing."""
    signals.setup_logging.connect(_keep_logging)
    signals.before_task_publish.connect(_mark_message)
    signals.task_prerun.connect(_begin)
    signals.task_postrun.connect(_end)
    signals.worker_init.connect(_open_worker)
    signals.worker_process_init.connect(_start_process)


def _keep_logging(**_: Any) -> None:
    """Leave the log as Django has set it up: with a receiver of this signal Celery sets up none of its own."""


def _mark_message(headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None:
        headers[queues.PUBLISHED_AT] = time.time()
        headers[REQUEST_ID] = get_contextvars().get(REQUEST_ID)


def _begin(task_id: str, task: "Task[..., Any]", **_: Any) -> None:
    request: Any = task.request
    setattr(request, _BEFORE, get_contextvars())
    bind_contextvars(task_id=task_id)
    if request_id := getattr(request, REQUEST_ID, None):
        bind_contextvars(request_id=request_id)
    if task.name in queues.periodic_tasks():
        queues.note_run(task.name)


def _end(task: "Task[..., Any]", **_: Any) -> None:
    clear_contextvars()
    bind_contextvars(**getattr(task.request, _BEFORE, {}))


def _open_worker(**_: Any) -> None:
    process_metrics.fold_ended_processes()
    worker_metrics.serve()


def _start_process(**_: Any) -> None:
    process_metrics.fold_ended_processes()
