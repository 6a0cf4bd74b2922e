"""From settings to a reranker. Its code is imported only when there is one."""

import functools

from django.conf import settings

from knowledge.rerank.metrics import CountedReranker
from knowledge.rerank.port import RerankConfig, Reranker
from knowledge.rerank.punctual import PunctualReranker


def configured_reranker() -> Reranker | None:
    """Return the reranker of the settings, one per process; None where they name none."""
    if not settings.KNOWLEDGE_RERANK_URL:
        return None
    return _built(
        RerankConfig(
            url=settings.KNOWLEDGE_RERANK_URL,
            model=settings.KNOWLEDGE_RERANK_MODEL,
            api_key=settings.KNOWLEDGE_RERANK_API_KEY or None,
            timeout=settings.KNOWLEDGE_RERANK_TIMEOUT_MS / 1_000,
        )
    )


@functools.cache
def _built(config: RerankConfig) -> Reranker:
    from knowledge.rerank.remote import RemoteReranker  # noqa: PLC0415 - only when chosen

    return CountedReranker(PunctualReranker(RemoteReranker(config), seconds=config.timeout))
