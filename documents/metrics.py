"""How runs of ingestion end, and how long they take."""

from enum import StrEnum

from prometheus_client import Counter, Histogram


class Outcome(StrEnum):
    """How a worker's part in an attempt ended; the last two are what the sweep does with one that stalls."""

    READY = "ready"
    FAILED = "failed"
    LOST = "lost"
    BROKE_OFF = "broke_off"
    QUEUED_AGAIN = "queued_again"
    GIVEN_UP = "given_up"


ATTEMPTS = Counter("soat_ingestion_attempts", "Attempts to ingest a document, by outcome.", ["outcome"])
SECONDS = Histogram(
    "soat_ingestion_attempt_seconds",
    "Time from a worker's claim of an attempt to its end, by outcome.",
    ["outcome"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600),
)


def count_attempt(outcome: Outcome, seconds: float | None = None) -> None:
    """Count an attempt that ended; ``seconds`` is None where no worker was at it."""
    ATTEMPTS.labels(outcome).inc()
    if seconds is not None:
        SECONDS.labels(outcome).observe(seconds)
