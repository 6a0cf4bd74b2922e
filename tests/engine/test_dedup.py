"""The write decision as a table."""

import math

import pytest

from soat.engine.dedup import COMPRESSED_BANDS, DEFAULT_BANDS, Bands, Candidate, Reason, Verdict, bands_of, decide
from soat.engine.guard import FactKind

FACT = "The plan allows 100 requests."
RESTATED = "the plan allows one hundred requests"
CHANGED = "The plan allows 1000 requests."
OTHER = "The weather is fine."


def _near(text: str, similarity: float | None, key: int = 1, *, same: bool = False) -> Candidate:
    return Candidate(key=key, text=text, similarity=similarity, same_text=same)


@pytest.mark.parametrize(
    ("candidate", "can_merge", "verdict", "reason"),
    [
        (_near(RESTATED, 0.95), False, Verdict.SKIP, Reason.SIMILAR),
        (_near(RESTATED, 0.95), True, Verdict.SKIP, Reason.SIMILAR),
        (_near(RESTATED, 0.9499), False, Verdict.CREATE, Reason.BELOW_THRESHOLD),
        (_near(RESTATED, 0.9499), True, Verdict.MERGE, Reason.MERGE_BAND),
        (_near(OTHER, 0.75), True, Verdict.MERGE, Reason.MERGE_BAND),
        (_near(OTHER, 0.7499), True, Verdict.CREATE, Reason.BELOW_THRESHOLD),
        (_near(CHANGED, 0.99), False, Verdict.CREATE, Reason.FACT_DIFFERS_NUMBER),
        (_near(CHANGED, 0.99), True, Verdict.MERGE, Reason.MERGE_BAND),
        (_near(CHANGED, 1.0), False, Verdict.CREATE, Reason.FACT_DIFFERS_NUMBER),
        (_near(OTHER, None), True, Verdict.CREATE, Reason.NO_VECTOR),
        (_near(OTHER, math.nan), True, Verdict.CREATE, Reason.NO_VECTOR),
        (_near(FACT, None, same=True), False, Verdict.SKIP, Reason.IDENTICAL_TEXT),
        (_near(FACT, 0.2, same=True), True, Verdict.SKIP, Reason.IDENTICAL_TEXT),
    ],
)
def test_at_the_default_threshold(candidate: Candidate, can_merge: bool, verdict: Verdict, reason: Reason) -> None:
    decision = decide(FACT, [candidate], can_merge=can_merge)
    assert (decision.verdict, decision.reason, decision.candidate) == (verdict, reason, candidate)


@pytest.mark.parametrize(
    ("candidate", "threshold", "verdict", "reason"),
    [
        (_near(CHANGED, 0.99), 0.95, Verdict.SKIP, Reason.THRESHOLD),
        (_near(OTHER, 0.3), 0.3, Verdict.SKIP, Reason.THRESHOLD),
        (_near(OTHER, 0.0), 0.0, Verdict.SKIP, Reason.THRESHOLD),
        (_near(OTHER, -0.1), 0.0, Verdict.CREATE, Reason.BELOW_THRESHOLD),
        (_near(FACT, 0.97, same=True), 0.99, Verdict.CREATE, Reason.BELOW_THRESHOLD),
        (_near(FACT, 0.9999999, same=True), 1.0, Verdict.SKIP, Reason.THRESHOLD),
        (_near(RESTATED, 0.999), 1.0, Verdict.CREATE, Reason.BELOW_THRESHOLD),
        (_near(FACT, None, same=True), 0.95, Verdict.CREATE, Reason.NO_VECTOR),
    ],
)
def test_a_threshold_that_was_sent_is_pure_cosine(
    candidate: Candidate, threshold: float, verdict: Verdict, reason: Reason
) -> None:
    decision = decide(FACT, [candidate], duplicate_threshold=threshold)
    assert (decision.verdict, decision.reason) == (verdict, reason)


def test_nothing_to_compare_creates() -> None:
    decision = decide(FACT, [], can_merge=True)
    assert (decision.verdict, decision.reason, decision.candidate) == (Verdict.CREATE, Reason.NO_CANDIDATE, None)


@pytest.mark.parametrize("threshold", [None, 0.0, 1.0])
def test_force_creates(threshold: float | None) -> None:
    twin = _near(FACT, 1.0, same=True)
    decision = decide(FACT, [twin], duplicate_threshold=threshold, force=True, can_merge=True)
    assert (decision.verdict, decision.reason, decision.candidate) == (Verdict.CREATE, Reason.FORCED, twin)


def test_a_restatement_wins_over_a_nearer_changed_fact() -> None:
    restated = _near(RESTATED, 0.96, key=7)
    decision = decide(FACT, [_near(CHANGED, 0.99, key=3), restated, _near(OTHER, 0.5, key=1)], can_merge=True)
    assert (decision.verdict, decision.candidate) == (Verdict.SKIP, restated)


def test_an_equal_text_wins_over_a_nearer_one() -> None:
    twin = _near(FACT, None, key=9, same=True)
    assert decide(FACT, [_near(CHANGED, 0.99), twin]).candidate == twin


def test_a_restatement_below_the_band_does_not_count() -> None:
    decision = decide(FACT, [_near(CHANGED, 0.99, key=3), _near(RESTATED, 0.94, key=7)])
    assert decision.verdict is Verdict.CREATE
    assert decision.candidate is not None
    assert decision.candidate.key == 3
    assert decision.difference is not None
    assert decision.difference.kind is FactKind.NUMBER


@pytest.mark.parametrize("reverse", [False, True])
def test_ties_go_to_the_lower_key(reverse: bool) -> None:
    twins = [_near(RESTATED, 0.97, key=4), _near(RESTATED, 0.97, key=2)]
    candidate = decide(FACT, sorted(twins, key=lambda twin: twin.key, reverse=reverse)).candidate
    assert candidate is not None
    assert candidate.key == 2


def test_the_case_of_a_unit_keeps_equal_texts_apart() -> None:
    decision = decide("The link carries 100 Mb.", [_near("The link carries 100 MB.", 1.0, same=True)])
    assert (decision.verdict, decision.reason) == (Verdict.CREATE, Reason.FACT_DIFFERS_UNIT)


@pytest.mark.parametrize("kind", FactKind)
def test_every_kind_of_fact_has_its_reason(kind: FactKind) -> None:
    assert Reason(f"fact_differs_{kind.value}")


@pytest.mark.parametrize(
    ("model", "bands"),
    [
        ("multilingual-e5-small", COMPRESSED_BANDS),
        ("intfloat/e5-large-v2", COMPRESSED_BANDS),
        ("zylonai/multilingual-E5-large:latest", COMPRESSED_BANDS),
        ("all-MiniLM-L6-v2", DEFAULT_BANDS),
        ("nomic-embed-text", DEFAULT_BANDS),
        ("code5-embed", DEFAULT_BANDS),
        ("made5", DEFAULT_BANDS),
    ],
)
def test_compressed_cosines_have_bands_of_their_own(model: str, bands: Bands) -> None:
    assert bands_of(model) is bands


@pytest.mark.parametrize(
    ("similarity", "verdict"), [(0.89, Verdict.CREATE), (0.90, Verdict.MERGE), (0.95, Verdict.MERGE)]
)
def test_what_is_unrelated_to_a_compressed_model_is_not_merged(similarity: float, verdict: Verdict) -> None:
    assert decide(FACT, [_near(OTHER, similarity)], bands=COMPRESSED_BANDS, can_merge=True).verdict is verdict


def test_a_restatement_is_skipped_at_the_same_cosine_by_all_models() -> None:
    for similarity, verdict in ((0.95, Verdict.SKIP), (0.9499, Verdict.CREATE)):
        assert decide(FACT, [_near(RESTATED, similarity)], bands=COMPRESSED_BANDS).verdict is verdict
