"""A threshold that is sent is taken at its word: pure cosine. Scores are set, not measured, in most of these."""

import pytest

from tests.conftest import Cast
from tests.memories.fakes import placed, use_embedder
from tests.memories.rest import Record, write

KNOWN = "The user has two cats"


@pytest.mark.parametrize(
    ("cosine", "threshold", "action"),
    [
        (0.0, 0, "skipped"),
        (0.01, 0, "skipped"),
        (-0.01, 0, "created"),
        (0.31, 0.3, "skipped"),
        (0.29, 0.3, "created"),
        (0.9501, 0.95, "skipped"),
        (0.9499, 0.95, "created"),
        (0.99, 0.999, "created"),
        (0.9999, 1, "created"),
        (1.0, 1, "skipped"),
    ],
)
@pytest.mark.parametrize(
    "incoming", ["Quantum chromodynamics has gluons", "The user has 2 cats", "The user has no cats"]
)
def test_a_sent_threshold_is_pure_cosine(
    cast: Cast,
    memory: Record,
    monkeypatch: pytest.MonkeyPatch,
    *,
    incoming: str,
    cosine: float,
    threshold: float,
    action: str,
) -> None:
    use_embedder(monkeypatch, placed({KNOWN: 1.0, incoming: cosine}))
    write(cast.a, memory["id"], KNOWN)
    answer = write(cast.a, memory["id"], incoming, duplicate_threshold=threshold)
    assert answer["action"] == action
    assert answer["reason"] == ("threshold" if action == "skipped" else "below_threshold")
    assert answer["similarity"] == pytest.approx(max(cosine, 0.0), abs=1e-6)


@pytest.mark.parametrize(
    ("incoming", "cosine", "action", "reason"),
    [
        ("The user has 2 cats", 0.9501, "skipped", "similar"),
        ("The user has 2 cats", 0.9499, "created", "below_threshold"),
        ("The user has 3 cats", 0.9501, "created", "fact_differs_number"),
        ("The user has 3 cats", 0.9499, "created", "below_threshold"),
        ("The user has 3 cats", 1.0, "created", "fact_differs_number"),
        ("THE USER HAS TWO CATS", 0.1, "skipped", "identical_text"),
    ],
)
@pytest.mark.parametrize("sent", [{}, {"duplicate_threshold": None}])
def test_the_default_needs_score_and_equal_facts(
    cast: Cast,
    memory: Record,
    monkeypatch: pytest.MonkeyPatch,
    *,
    incoming: str,
    cosine: float,
    action: str,
    reason: str,
    sent: Record,
) -> None:
    use_embedder(monkeypatch, placed({KNOWN: 1.0, incoming: cosine}))
    write(cast.a, memory["id"], KNOWN)
    answer = write(cast.a, memory["id"], incoming, **sent)
    assert (answer["action"], answer["reason"]) == (action, reason)


@pytest.mark.parametrize("threshold", [0, 0.3, 0.95, 1])
def test_the_same_text_reaches_every_threshold(cast: Cast, memory: Record, threshold: float) -> None:
    first = write(cast.a, memory["id"], "The user prefers dark mode in every application")
    again = write(
        cast.a, memory["id"], "The user prefers dark mode in every application", duplicate_threshold=threshold
    )
    assert (again["action"], again["id"], again["reason"]) == ("skipped", first["id"], "threshold")


def test_a_high_threshold_stores_a_restatement_and_a_low_one_skips_another_fact(cast: Cast, memory: Record) -> None:
    first = write(cast.a, memory["id"], "The user prefers dark mode in every application")
    shouted = write(cast.a, memory["id"], "the USER prefers dark mode in every application!", duplicate_threshold=1)
    assert (shouted["action"], shouted["matched_entry_id"]) == ("created", first["id"])
    changed = write(cast.a, memory["id"], "The user prefers light mode in some application", duplicate_threshold=0.3)
    assert (changed["action"], changed["reason"]) == ("skipped", "threshold")


def test_the_nearest_entry_decides_and_the_first_of_twins(
    cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    cosines = {"a": 0.5, "b": 0.9, "c": 0.9, "d": 0.7, "probe": 1.0}
    use_embedder(monkeypatch, placed(cosines))
    ids = {name: write(cast.a, memory["id"], name, force=True)["id"] for name in "abcd"}
    answer = write(cast.a, memory["id"], "probe", duplicate_threshold=0.6)
    assert (answer["action"], answer["id"]) == ("skipped", ids["b"])
    assert answer["similarity"] == pytest.approx(0.9, abs=1e-6)
