"""The last step of a search, where it is asked for: a model reads the best results together with the question."""

import logging
import time
from dataclasses import replace

from django.conf import settings

from knowledge.explanation import Explanation, RerankExplanation
from knowledge.rerank.port import Failure, Reranker, RerankError
from knowledge.rerank.registry import configured_reranker
from knowledge.results import Result
from soat.core.db import give_back_connection
from soat.core.errors import ValidationFailed
from soat.engine.rerank import reranked

logger = logging.getLogger(__name__)


def required_reranker() -> Reranker:
    """Return the deployment's reranker. Raises ``ValidationFailed``, naming the field, where there is none."""
    reranker = configured_reranker()
    if reranker is None:
        message = "cannot be true: this server has no reranker (KNOWLEDGE_RERANK_URL)."
        raise ValidationFailed(f"rerank {message}", meta={"fields": {"rerank": message}})
    return reranker


def rerank_depth() -> int:
    """Return how many results are reranked."""
    return int(settings.KNOWLEDGE_RERANK_DEPTH)


def rerank_best(reranker: Reranker, query: str, results: list[Result], explanation: Explanation) -> list[Result]:
    """Return the results, best first, with the best of them in the reranker's order.

    A reranker that fails leaves everything as it was, and a line in the log.
    """
    best = results[: rerank_depth()]
    if not best:
        return results
    give_back_connection()
    failure: Failure | None = None
    begun = time.perf_counter()
    try:
        relevances = reranker.rerank(query, [result.content for result in best])
        results = [
            replace(one.hit, reranked=one.score, rerank_place=one.place) for one in reranked(results, relevances)
        ]
    except RerankError as error:
        failure = error.failure
        logger.warning("The results were not reranked (%s): %s", failure, error)
    explanation.rerank = RerankExplanation(len(best), (time.perf_counter() - begun) * 1_000, failure)
    return results
