"""By what a search orders its results, as settings and request say."""

from dataclasses import replace
from datetime import datetime

from django.conf import settings

from knowledge.results import DocumentResult, MemoryResult
from soat.engine.fusion import Fusion, FusionRule, Ranking, Recency, aged, fused_score

_DAY_SECONDS = 86_400


def default_ranking() -> Ranking:
    """Return the ranking of a search that names none."""
    return Ranking(settings.KNOWLEDGE_RANKING)


def fusion_rule() -> FusionRule:
    """Return how this deployment weighs the legs."""
    return FusionRule(
        method=Fusion(settings.KNOWLEDGE_FUSION),
        words_weight=settings.KNOWLEDGE_WORDS_WEIGHT,
        cosine_floor=settings.KNOWLEDGE_COSINE_FLOOR,
    )


def recency() -> Recency | None:
    """Return what age takes away from a fact; None where it takes nothing."""
    if not settings.KNOWLEDGE_RECENCY_HALF_LIFE_DAYS or not settings.KNOWLEDGE_RECENCY_WEIGHT:
        return None
    return Recency(settings.KNOWLEDGE_RECENCY_HALF_LIFE_DAYS, settings.KNOWLEDGE_RECENCY_WEIGHT)


def fused_chunks(results: list[DocumentResult]) -> list[DocumentResult]:
    """Return chunks with the score that their legs make."""
    rule = fusion_rule()
    return [replace(result, fused=fused_score(result.legs, rule)) for result in results if result.legs]


def fused_facts(results: list[MemoryResult], *, now: datetime) -> list[MemoryResult]:
    """Return facts with the score that their legs and their age make."""
    rule, ageing = fusion_rule(), recency()
    fused = []
    for result in results:
        if result.legs is not None:
            score = fused_score(result.legs, rule)
            if ageing is not None:
                score = aged(score, (now - result.updated_at).total_seconds() / _DAY_SECONDS, ageing)
            fused.append(replace(result, fused=score))
    return fused
