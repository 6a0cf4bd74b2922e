"""What every provider must do, whichever it is."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from embeddings.batching import embed_texts
from embeddings.port import Answer, Embedder, EmbeddingRejected, Reason, TextKind, Vector
from tests.embeddings.conftest import SERVERS, Remote

TEXTS = [
    "The meeting was moved to Thursday.",
    "Kelp grows up to half a metre a day. It feeds urchins, and otters feed on those.",
    "Ein Satz auf Deutsch, mit Umlauten: äöü.",
    "Καλημέρα κόσμε.",
    "The meeting was moved to Friday.",
]
LONG = " ".join(f"Sentence number {number} tells of the harbour and of its {number} boats." for number in range(120))


LOCAL = ("local", "multilingual")
TELL_KINDS_APART = ("cohere", "e5")


@pytest.fixture(params=[*LOCAL, *SERVERS])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param in LOCAL:
        local: Embedder = request.getfixturevalue(request.param)
        return local
    remotes: Callable[[str], Remote] = request.getfixturevalue("remotes")
    return remotes(request.param).embedder


def answers(embedder: Embedder, texts: Sequence[str], kind: TextKind = TextKind.DOCUMENT) -> list[Answer]:
    """Embed texts, no more at once than the embedder takes."""
    parts = [texts[start : start + embedder.max_batch] for start in range(0, len(texts), embedder.max_batch)]
    return [answer for part in parts for answer in embedder.embed(part, kind=kind)]


def vectors(embedder: Embedder, texts: Sequence[str], kind: TextKind = TextKind.DOCUMENT) -> list[Vector]:
    found = answers(embedder, texts, kind)
    assert not [answer for answer in found if isinstance(answer, EmbeddingRejected)]
    return [answer for answer in found if not isinstance(answer, EmbeddingRejected)]


def test_a_vector_is_of_unit_length_and_the_spaces_dimensions(embedder: Embedder) -> None:
    for vector in vectors(embedder, TEXTS):
        assert vector.shape == (embedder.space.dimensions,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kind", list(TextKind))
def test_a_text_has_the_same_vector_alone_and_in_company(embedder: Embedder, kind: TextKind) -> None:
    together = vectors(embedder, TEXTS, kind)
    for text, vector in zip(TEXTS, together, strict=True):
        [alone] = embedder.embed([text], kind=kind, urgent=True)
        assert not isinstance(alone, EmbeddingRejected)
        assert float(alone @ vector) > 0.999999


def test_a_query_has_a_vector_of_its_own_only_where_the_model_tells_kinds_apart(embedder: Embedder) -> None:
    pairs = zip(vectors(embedder, TEXTS), vectors(embedder, TEXTS, TextKind.QUERY), strict=True)
    same = [float(document @ query) > 0.999999 for document, query in pairs]
    told_apart = any(name in embedder.space.model for name in TELL_KINDS_APART)
    assert same == [not told_apart] * len(TEXTS)


def test_equal_input_gives_bit_equal_vectors(embedder: Embedder) -> None:
    first, second = vectors(embedder, TEXTS), vectors(embedder, TEXTS)
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


def test_nothing_to_embed_is_no_error(embedder: Embedder) -> None:
    assert embedder.embed([], kind=TextKind.DOCUMENT) == []
    assert embed_texts(embedder, [], kind=TextKind.DOCUMENT) == []


def test_a_text_that_fits_is_one_window(embedder: Embedder) -> None:
    assert embedder.windows(TEXTS[0]) == [(0, len(TEXTS[0]))]


def test_the_windows_of_a_long_text_hold_all_of_it_and_each_fits(embedder: Embedder) -> None:
    windows = embedder.windows(LONG)
    assert len(windows) > 1
    assert windows[0].start == 0
    assert windows[-1].end == len(LONG)
    for one, following in pairwise(windows):
        assert one.start < following.start <= one.end < following.end
    for start, end in windows:
        assert vectors(embedder, [LONG[start:end]])


def test_what_does_not_fit_is_refused_and_never_cut_off(embedder: Embedder) -> None:
    try:
        [refused] = answers(embedder, [LONG])
    except EmbeddingRejected as error:
        refused = error
    assert isinstance(refused, EmbeddingRejected)
    assert refused.reason is Reason.TOO_LONG
    assert refused.permanent


def test_texts_of_any_length_are_embedded_in_order(embedder: Embedder) -> None:
    texts = [LONG, *TEXTS, LONG[: len(LONG) // 2], TEXTS[0]]
    embedded = embed_texts(embedder, texts, kind=TextKind.DOCUMENT, concurrency=3)
    assert [text.error for text in embedded] == [None] * len(texts)
    assert len(embedded[0].windows) == len(embedder.windows(LONG))
    for text, result in zip(TEXTS, embedded[1:], strict=False):
        [expected] = vectors(embedder, [text])
        assert float(result.windows[0] @ expected) > 0.999999


@pytest.mark.parametrize(
    ("bad", "reason"),
    [("", Reason.NO_CONTENT), (" \n\t", Reason.NO_CONTENT), ("half a \ud83d pair", Reason.INVALID_TEXT)],
)
def test_an_unusable_text_costs_only_itself(embedder: Embedder, bad: str, reason: Reason) -> None:
    before, failed, after = embed_texts(embedder, [TEXTS[0], bad, TEXTS[1]], kind=TextKind.DOCUMENT)
    assert isinstance(failed.error, EmbeddingRejected)
    assert failed.error.reason is reason
    assert failed.windows == ()
    assert len(before.windows) == len(after.windows) == 1


def test_threads_may_share_it(embedder: Embedder) -> None:
    expected = vectors(embedder, TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: vectors(embedder, TEXTS), range(8)):
            assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
