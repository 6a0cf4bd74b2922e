"""What can be said of stored vectors without fetching them."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, FloatField, Func, IntegerField, Max, Min

from embeddings.models import StoredVector


@dataclass(frozen=True, slots=True)
class VectorSummary:
    """The vectors of one row in one space: one a window."""

    space: str
    is_current: bool
    windows: int
    dimensions: int
    lowest_norm: float
    highest_norm: float

    def __str__(self) -> str:
        low, high = f"{self.lowest_norm:.2f}", f"{self.highest_norm:.2f}"
        norm = low if low == high else f"{low} to {high}"
        windows = "1 window" if self.windows == 1 else f"{self.windows} windows"
        return f"{self.dimensions} dimensions, norm {norm}, {windows}"


def vector_summaries(model: type[StoredVector], **owner: object) -> list[VectorSummary]:
    """Return a summary for each space that has vectors of the row ``owner`` (``entry_id=5``), the current one first."""
    dimensions = Func(F("embedding"), function="vector_dims", output_field=IntegerField())
    norm = Func(F("embedding"), function="vector_norm", output_field=FloatField())
    rows: Any = (
        model._default_manager.filter(**owner)  # noqa: SLF001  (Django's own public name)
        .values("space__provider", "space__model", "space__is_current")
        .annotate(windows=Count("pk"), dimensions=Max(dimensions), low=Min(norm), high=Max(norm))
        .order_by("-space__is_current", "space__provider", "space__model", "dimensions")
    )
    return [
        VectorSummary(
            space=f"{row['space__provider']}/{row['space__model']}",
            is_current=row["space__is_current"],
            windows=row["windows"],
            dimensions=row["dimensions"],
            lowest_norm=row["low"],
            highest_norm=row["high"],
        )
        for row in rows
    ]
