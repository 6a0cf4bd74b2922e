"""Batches, retries and the isolation of bad texts."""

import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

from embeddings.batching import BULK, FAILURES_THAT_OPEN, URGENT, EmbeddedText, Patience, embed_texts, mean_vector
from embeddings.port import (
    Answer,
    EmbedderMisconfigured,
    EmbeddingError,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    TextKind,
)
from tests.embeddings.scripted import ScriptedEmbedder, vector_of

TEXTS = [f"text number {number:02d}" for number in range(10)]


class Naps:
    """Records the waits in place of taking them."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def embed(
    embedder: ScriptedEmbedder,
    texts: Sequence[str],
    *,
    naps: Naps | None = None,
    concurrency: int = 1,
    urgent: bool = False,
    patience: Patience | None = None,
) -> list[EmbeddedText]:
    """Embed without waiting and without chance."""
    return embed_texts(
        embedder,
        texts,
        kind=TextKind.DOCUMENT,
        concurrency=concurrency,
        urgent=urgent,
        patience=patience,
        sleep=naps or Naps(),
        jitter=lambda: 1.0,
    )


def failing(times: int, error: EmbeddingError) -> ScriptedEmbedder:
    """Return an embedder whose first calls fail."""
    left = [error] * times
    return ScriptedEmbedder(batch_fault=lambda texts: left.pop() if left else None)


def reasons(embedded: Sequence[EmbeddedText]) -> list[Reason | None]:
    return [text.error.reason if isinstance(text.error, EmbeddingRejected) else None for text in embedded]


def assert_complete(embedded: Sequence[EmbeddedText], texts: Sequence[str]) -> None:
    assert [text.error for text in embedded] == [None] * len(texts)
    for result, text in zip(embedded, texts, strict=True):
        [vector] = result.windows
        assert np.array_equal(vector, vector_of(text))


def test_batches_keep_to_the_providers_size_and_results_to_the_texts_order() -> None:
    embedder = ScriptedEmbedder()
    texts = [text * (1 + number % 3) for number, text in enumerate(TEXTS)]
    texts = [text[:40] for text in texts]
    assert_complete(embed(embedder, texts, concurrency=3), texts)
    assert sorted(map(len, embedder.calls)) == [2, 4, 4]


def test_a_long_text_has_a_vector_per_window_in_order() -> None:
    embedder = ScriptedEmbedder()
    text = "The harbour was closed. The boats stayed out. Nobody knew until the morning came."
    [result] = embed(embedder, [text])
    expected = [vector_of(text[start:end]) for start, end in embedder.windows(text)]
    assert len(expected) > 2
    assert all(np.array_equal(one, other) for one, other in zip(result.windows, expected, strict=True))


def test_no_more_batches_than_allowed_are_under_way_at_once() -> None:
    lock = threading.Lock()
    under_way = most = 0

    def fault(texts: Sequence[str]) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.02)
        with lock:
            under_way -= 1

    embed(ScriptedEmbedder(batch_fault=fault), TEXTS * 4, concurrency=3)
    assert most == 3


def test_an_unavailable_batch_is_tried_again_with_growing_waits() -> None:
    naps = Naps()
    embedder = failing(3, EmbeddingUnavailable("busy"))
    assert_complete(embed(embedder, TEXTS[:4], naps=naps), TEXTS[:4])
    assert naps.taken == [0.5, 1.0, 2.0]


def test_jitter_shortens_a_wait_by_half_at_most() -> None:
    naps = Naps()
    embedder = failing(1, EmbeddingUnavailable("busy"))
    embed_texts(embedder, TEXTS[:1], kind=TextKind.QUERY, sleep=naps, jitter=lambda: 0.0)
    assert naps.taken == [0.25]


def test_the_provider_says_how_long_to_wait() -> None:
    naps = Naps()
    assert_complete(embed(failing(1, EmbeddingUnavailable("busy", retry_after=7)), TEXTS[:4], naps=naps), TEXTS[:4])
    assert naps.taken == [7]


def test_a_wait_longer_than_patience_is_left_to_the_caller() -> None:
    naps = Naps()
    embedder = failing(99, EmbeddingUnavailable("quota", retry_after=600))
    [result] = embed(embedder, TEXTS[:1], naps=naps)
    assert isinstance(result.error, EmbeddingUnavailable)
    assert result.error.retry_after == 600
    assert not result.error.permanent
    assert len(embedder.calls) == 1
    assert naps.taken == []


def test_no_attempt_starts_once_the_budget_is_spent() -> None:
    moments = iter([0.0, 2.95])
    embedder = failing(99, EmbeddingUnavailable("slow"))
    embed_texts(
        embedder,
        TEXTS[:1],
        kind=TextKind.QUERY,
        urgent=True,
        sleep=Naps(),
        jitter=lambda: 1.0,
        clock=lambda: next(moments),
    )
    assert len(embedder.calls) == 1


def test_an_urgent_call_takes_the_short_timeout_and_one_more_try() -> None:
    naps = Naps()
    embedder = failing(99, EmbeddingUnavailable("down"))
    results = embed(embedder, TEXTS[:4], naps=naps, urgent=True)
    assert all(isinstance(result.error, EmbeddingUnavailable) for result in results)
    assert len(embedder.calls) == URGENT.attempts
    assert embedder.urgent == {True}
    assert naps.taken == [URGENT.first_wait]


def test_a_provider_that_is_down_is_not_asked_for_every_batch() -> None:
    embedder = ScriptedEmbedder(batch_fault=lambda texts: EmbeddingUnavailable("down"))
    results = embed(embedder, TEXTS * 40)
    assert all(isinstance(result.error, EmbeddingUnavailable) for result in results)
    assert len(embedder.calls) == FAILURES_THAT_OPEN * (BULK.attempts + 2)


def test_one_text_that_the_provider_chokes_on_does_not_cost_its_batch() -> None:
    embedder = ScriptedEmbedder(
        batch_fault=lambda texts: EmbeddingUnavailable("500") if any("05" in text for text in texts) else None
    )
    results = embed(embedder, TEXTS)
    assert isinstance(results[5].error, EmbeddingUnavailable)
    assert_complete(results[:5] + results[6:], TEXTS[:5] + TEXTS[6:])


def test_one_text_for_which_a_batch_is_refused_does_not_cost_the_others() -> None:
    refusal = EmbeddingRejected(Reason.REFUSED, "no")
    embedder = ScriptedEmbedder(batch_fault=lambda texts: refusal if any("0" in text[-1] for text in texts) else None)
    results = embed(embedder, TEXTS, concurrency=2)
    assert reasons(results) == [Reason.REFUSED] + [None] * 9
    assert_complete(results[1:], TEXTS[1:])


def test_a_bad_row_costs_only_its_text() -> None:
    def reply(text: str) -> Answer:
        return EmbeddingRejected(Reason.NOT_FINITE, "NaN") if "07" in text else vector_of(text)

    results = embed(ScriptedEmbedder(reply=reply), TEXTS)
    assert reasons(results) == [None] * 7 + [Reason.NOT_FINITE] + [None] * 2
    assert len(results[6].windows) == 1


@pytest.mark.parametrize("whole_batch", [True, False])
def test_what_the_provider_finds_too_long_is_cut_further(whole_batch: bool) -> None:
    too_long = EmbeddingRejected(Reason.TOO_LONG, "too long")

    def reply(text: str) -> Answer:
        return too_long if len(text) > 17 else vector_of(text)

    def fault(texts: Sequence[str]) -> EmbeddingError | None:
        return too_long if whole_batch and any(len(text) > 17 for text in texts) else None

    texts = ["short", "seven words that are too long together", "tiny"]
    results = embed(ScriptedEmbedder(reply=reply, batch_fault=fault), texts)
    assert [result.error for result in results] == [None, None, None]
    assert len(results[0].windows) == len(results[2].windows) == 1
    assert len(results[1].windows) >= 3


def test_a_text_that_no_cut_makes_short_enough_fails_alone() -> None:
    def reply(text: str) -> Answer:
        return EmbeddingRejected(Reason.TOO_LONG, "too long") if "x" in text else vector_of(text)

    results = embed(ScriptedEmbedder(reply=reply), ["fine", "x" * 40])
    assert reasons(results) == [None, Reason.TOO_LONG]


def test_a_window_without_content_is_left_out_of_a_text_that_has_some() -> None:
    def reply(text: str) -> Answer:
        return vector_of(text) if text.strip("~") else EmbeddingRejected(Reason.NO_CONTENT, "nothing")

    text = "Words to read, then none. " + "~" * 60
    mixed, empty = embed(ScriptedEmbedder(reply=reply), [text, "~" * 60])
    assert mixed.error is None
    assert len(mixed.windows) >= 1
    assert reasons([empty]) == [Reason.NO_CONTENT]


def test_a_text_with_a_failed_window_has_no_vectors_and_the_healing_error_wins() -> None:
    def reply(text: str) -> Answer:
        return EmbeddingRejected(Reason.REFUSED, "not this") if "bad" in text else vector_of(text)

    def fault(texts: Sequence[str]) -> EmbeddingError | None:
        return EmbeddingUnavailable("500") if any("down" in text for text in texts) else None

    bad = "A first sentence that is quite fine here. " + "And then one that is bad, said the model. "
    down = bad + "The last of them finds the model is down. "
    results = embed(ScriptedEmbedder(reply=reply, batch_fault=fault), [bad, down])
    assert [result.windows for result in results] == [(), ()]
    assert reasons(results) == [Reason.REFUSED, None]
    assert isinstance(results[1].error, EmbeddingUnavailable)


@pytest.mark.parametrize("reason", list(Reason))
def test_a_refusal_is_final_only_where_the_text_is_at_fault(reason: Reason) -> None:
    in_the_text = {Reason.INVALID_TEXT, Reason.NO_CONTENT, Reason.TOO_LONG, Reason.REFUSED}
    assert EmbeddingRejected(reason, "no").permanent is (reason in in_the_text)


def test_wrong_settings_end_the_job_at_once() -> None:
    naps = Naps()
    embedder = ScriptedEmbedder(batch_fault=lambda texts: EmbedderMisconfigured("no such model"))
    results = embed(embedder, TEXTS, naps=naps)
    assert all(isinstance(result.error, EmbedderMisconfigured) for result in results)
    assert not EmbedderMisconfigured.permanent
    assert len(embedder.calls) == 1
    assert naps.taken == []


def test_settings_that_become_wrong_midway_are_no_exception() -> None:
    errors: list[EmbeddingError] = [EmbeddingUnavailable("500")] * BULK.attempts + [EmbedderMisconfigured("model gone")]
    embedder = ScriptedEmbedder(batch_fault=lambda texts: errors.pop(0) if errors else None)
    results = embed(embedder, TEXTS)
    assert [type(result.error) for result in results[:2]] == [EmbedderMisconfigured] * 2
    assert all(isinstance(result.error, EmbedderMisconfigured) for result in results[4:])


def test_the_mean_of_windows_is_a_unit_vector_between_them() -> None:
    one, other = vector_of("one"), vector_of("other")
    mean = mean_vector([one, other])
    assert mean.dtype == np.float32
    assert np.linalg.norm(mean) == pytest.approx(1.0, abs=1e-6)
    assert float(mean @ one) == pytest.approx(float(mean @ other), abs=1e-6)


def test_windows_that_cancel_each_other_out_have_no_mean() -> None:
    with pytest.raises(EmbeddingRejected):
        mean_vector([vector_of("one"), -vector_of("one")])
