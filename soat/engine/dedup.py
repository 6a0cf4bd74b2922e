"""The decision about an incoming fact: a pure function of the shortlist and the write's context."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from soat.engine.guard import FactDifference, FactKind, case_difference, fact_difference

# Two vectors of one text differ by about 1e-7 in single precision: a threshold of exactly 1 still means "the same".
_SAME_VECTOR = 1.0 - 1e-6

# How many neighbours a write looks at. More than one, since a changed fact in the same words ("100 requests",
# "1,000 requests") can lie nearer than the restatement; the arbitrated mode looks at as many.
SHORTLIST_SIZE = 5


class Verdict(StrEnum):
    """What becomes of an incoming fact."""

    CREATE = "create"
    SKIP = "skip"
    MERGE = "merge"


class Reason(StrEnum):
    """Why: the closed set that a write reports."""

    IDENTICAL_TEXT = "identical_text"
    SIMILAR = "similar"
    THRESHOLD = "threshold"
    MERGE_BAND = "merge_band"
    FORCED = "forced"
    NO_CANDIDATE = "no_candidate"
    NO_VECTOR = "no_vector"
    BELOW_THRESHOLD = "below_threshold"
    FACT_DIFFERS_QUESTION = "fact_differs_question"
    FACT_DIFFERS_NUMBER = "fact_differs_number"
    FACT_DIFFERS_DATE = "fact_differs_date"
    FACT_DIFFERS_UNIT = "fact_differs_unit"
    FACT_DIFFERS_NEGATION = "fact_differs_negation"
    FACT_DIFFERS_MODALITY = "fact_differs_modality"
    FACT_DIFFERS_NAME = "fact_differs_name"
    FACT_DIFFERS_ORDER = "fact_differs_order"
    FACT_DIFFERS_WORDING = "fact_differs_wording"


@dataclass(frozen=True, slots=True)
class Bands:
    """The cosine cut-offs, lowest score that still belongs to the band.

    0.95 and 0.75 are the seeds' values. Measured with the default model, true paraphrases lie at .80-.94 and
    changed facts at .96-.99, so the upper one cannot decide alone: hence the guard.
    """

    duplicate: float = 0.95
    similar: float = 0.75


DEFAULT_BANDS = Bands()

COMPRESSED_BANDS = Bands(similar=0.90)
"""For models of the E5 family, whose cosines are compressed: two facts that have nothing to do with each other have
.80 (median of 2,000 pairs; 99 in 100 are below .89), where the default model has .07 (.52). What .75 cuts off there,
.90 cuts off here. A restatement is nearer, too (.94 and more in 19 of 20 pairs), and the guard still decides about it.
"""

_COMPRESSED = re.compile(r"(?<![^\W_])e5(?![^\W_])")


def bands_of(model: str) -> Bands:
    """Return the cut-offs for the cosines of a model, by its name: ``multilingual-e5-small``, ``intfloat/e5-large``."""
    return COMPRESSED_BANDS if _COMPRESSED.search(model.lower()) else DEFAULT_BANDS


@dataclass(frozen=True, slots=True)
class Candidate:
    """A valid entry of the same memory that the incoming fact may restate.

    ``key`` is the caller's own name for it. ``similarity`` is ``None`` when one of the two has no vector.
    ``same_text`` says that the content hashes are equal.
    """

    key: int
    text: str
    similarity: float | None
    same_text: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict with its reason.

    ``candidate`` is the entry that was matched, or came nearest; ``None`` without any. ``difference``
    is the fact that kept a near duplicate from being skipped.
    """

    verdict: Verdict
    reason: Reason
    candidate: Candidate | None = None
    difference: FactDifference | None = None


def decide(
    text: str,
    candidates: Sequence[Candidate],
    *,
    bands: Bands = DEFAULT_BANDS,
    duplicate_threshold: float | None = None,
    can_merge: bool = False,
    force: bool = False,
) -> Decision:
    """Return the decision about an incoming fact.

    ``duplicate_threshold`` is what the request sent: taken at its word, pure cosine. ``None`` means the
    default: an equal text is a duplicate even without a vector, and a near one only when no
    fact-bearing difference stands between the two. Any candidate that warrants a skip wins over nearer
    ones that do not. ``force`` always creates. Without anything to compare the answer is
    always ``CREATE``: a fact is never lost.
    """
    ranked = sorted(candidates, key=_nearest_first)
    nearest = ranked[0] if ranked else None
    if force:
        return Decision(Verdict.CREATE, Reason.FORCED, nearest)
    if nearest is None:
        return Decision(Verdict.CREATE, Reason.NO_CANDIDATE)
    if duplicate_threshold is not None:
        if _reaches(nearest, duplicate_threshold):
            return Decision(Verdict.SKIP, Reason.THRESHOLD, nearest)
        return _not_skipped(nearest, None, bands, can_merge)
    skip = _identical(text, ranked)
    if skip is not None:
        return skip
    return _guarded(text, ranked, bands, can_merge)


def _identical(text: str, ranked: Sequence[Candidate]) -> Decision | None:
    """Skip for an equal text; only the case of a unit ("100 Mb", "100 MB") can still make it another fact."""
    for candidate in ranked:
        if candidate.same_text and case_difference(text, candidate.text) is None:
            return Decision(Verdict.SKIP, Reason.IDENTICAL_TEXT, candidate)
    return None


def _guarded(text: str, ranked: Sequence[Candidate], bands: Bands, can_merge: bool) -> Decision:
    """Skip for a near duplicate without a fact-bearing difference; else go on as if it were not that near."""
    nearest = ranked[0]
    first_difference: FactDifference | None = None
    for candidate in ranked:
        if not _reaches(candidate, bands.duplicate):
            break
        difference = fact_difference(text, candidate.text)
        if difference is None:
            return Decision(Verdict.SKIP, Reason.SIMILAR, candidate)
        if candidate is nearest:
            first_difference = difference
    return _not_skipped(nearest, first_difference, bands, can_merge)


def _not_skipped(nearest: Candidate, difference: FactDifference | None, bands: Bands, can_merge: bool) -> Decision:
    if can_merge and _reaches(nearest, bands.similar):
        return Decision(Verdict.MERGE, Reason.MERGE_BAND, nearest, difference)
    if difference is not None:
        return Decision(Verdict.CREATE, _FACT_REASONS[difference.kind], nearest, difference)
    reason = Reason.NO_VECTOR if _score(nearest) is None else Reason.BELOW_THRESHOLD
    return Decision(Verdict.CREATE, reason, nearest)


def _reaches(candidate: Candidate, threshold: float) -> bool:
    score = _score(candidate)
    return score is not None and score >= threshold


def _score(candidate: Candidate) -> float | None:
    """Return the raw similarity, 1 when it is 1 but for rounding; NaN is no similarity."""
    similarity = candidate.similarity
    if similarity is None or math.isnan(similarity):
        return None
    return 1.0 if similarity >= _SAME_VECTOR else similarity


def _nearest_first(candidate: Candidate) -> tuple[float, int]:
    score = _score(candidate)
    return (math.inf if score is None else -score), candidate.key


_FACT_REASONS = {kind: Reason(f"fact_differs_{kind.value}") for kind in FactKind}
