"""Facts longer than the model's input: every window counts, on both sides."""

import pytest

from memories.models import EntryVector
from tests.conftest import Cast
from tests.memories.fakes import WindowedEmbedder, at_cosine, use_embedder
from tests.memories.rest import ENTRIES, Record, listed, write

LINES = {"head": 1.0, "body": 0.5, "tail": 0.0, "other": -0.5, "near": 0.97}
AXES = {name: axis for axis, name in enumerate(LINES, start=1)}


def by_line() -> WindowedEmbedder:
    """Return an embedder with one window a line; equal lines have equal vectors, others not."""
    return WindowedEmbedder(lambda line: at_cosine(LINES[line.strip()], axis=AXES[line.strip()]))


def text(*lines: str) -> str:
    return "\n".join(lines)


def test_a_long_text_has_a_vector_a_window(cast: Cast, memory: Record) -> None:
    sentences = [f"Section {number} of the lease is about the rooms on floor {number}." for number in range(60)]
    long = " ".join(sentences)
    first = write(cast.a, memory["id"], long)
    windows = EntryVector.objects.order_by("window").values_list("window", flat=True)
    assert list(windows) == list(range(len(windows)))
    assert len(windows) > 3
    assert write(cast.a, memory["id"], long.upper())["reason"] == "identical_text"
    restated = write(cast.a, memory["id"], long.replace("Section 59", "The Section 59"))
    assert (restated["action"], restated["id"]) == ("skipped", first["id"])
    for changed in (
        long.replace("floor 59", "floor 58"),
        long.replace("about the rooms on floor 0", "not about floor 0"),
    ):
        answer = write(cast.a, memory["id"], changed)
        assert answer["action"] == "created"
        assert answer["similarity"] >= 0.95
    assert len(listed(cast.a, memory["id"])) == 3


@pytest.mark.parametrize(
    ("known", "incoming", "similarity"),
    [
        (("head", "body"), ("head", "body"), 1.0),
        (("head", "body"), ("body", "head"), 1.0),
        (("head", "body"), ("head",), 1.0),
        (("head", "body", "tail"), ("tail", "body"), 1.0),
        (("head",), ("head", "body"), 0.5),
        (("head",), ("body", "head"), 0.5),
        (("head", "tail"), ("head", "other"), 0.0),
        (("head",), ("near",), 0.97),
        (("head",), ("near", "head", "near"), 0.97),
    ],
)
def test_a_long_text_is_as_similar_as_its_least_covered_window(
    cast: Cast,
    memory: Record,
    monkeypatch: pytest.MonkeyPatch,
    *,
    known: tuple[str, ...],
    incoming: tuple[str, ...],
    similarity: float,
) -> None:
    """One part in common is no duplicate: the rest of the incoming text would be lost."""
    use_embedder(monkeypatch, by_line())
    write(cast.a, memory["id"], text(*known))
    answer = write(cast.a, memory["id"], text(*incoming), duplicate_threshold=0.96)
    assert answer["similarity"] == pytest.approx(similarity, abs=1e-6)
    assert answer["action"] == ("skipped" if similarity >= 0.96 else "created")


def test_the_entry_that_covers_all_of_it_wins(cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    use_embedder(monkeypatch, by_line())
    for known in [("head",), ("body",), ("tail",), ("head", "tail")]:
        write(cast.a, memory["id"], text(*known), force=True)
    whole = write(cast.a, memory["id"], text("tail", "body", "head"), force=True)
    answer = write(cast.a, memory["id"], text("head", "body"), duplicate_threshold=0.9)
    assert (answer["action"], answer["id"]) == ("skipped", whole["id"])


def test_an_edit_leaves_no_window_of_the_old_text(cast: Cast, memory: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    use_embedder(monkeypatch, by_line())
    entry = write(cast.a, memory["id"], text("head", "body", "tail"))
    assert EntryVector.objects.count() == 3
    cast.a.put(f"{ENTRIES}/{entry['id']}", {"content": text("other", "near")}, format="json")
    stored = [list(row.embedding) for row in EntryVector.objects.order_by("window")]
    assert stored == [list(at_cosine(LINES[name], axis=AXES[name])) for name in ("other", "near")]
