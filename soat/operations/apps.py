"""For operators: logs, metrics and the doctor."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Everything that watches; nothing else depends on it."""

    name = "soat.operations"
    label = "operations"

    def ready(self) -> None:
        """Make the folder of the metrics before anything counts, and follow the tasks."""
        from soat.operations import process_metrics, task_signals  # noqa: PLC0415  (settings come first)

        process_metrics.make_folder()
        task_signals.connect()
