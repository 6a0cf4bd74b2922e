"""REST of the search."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from knowledge.api.schemas import KnowledgeResults, KnowledgeSearch
from knowledge.explanation import represent_explanation
from knowledge.results import Result, represent_result
from knowledge.search import Search, explained_search, search_knowledge
from soat.core.openapi import operation
from soat.engine.fusion import Ranking
from soat.engine.rank import effective_limit
from soat.tenancy.access import require_admin
from soat.tenancy.viewsets import ResourceViewSet


class KnowledgeViewSet(ResourceViewSet):
    """The search."""

    @operation(
        "searchKnowledge",
        action="knowledge:SearchKnowledge",
        tag="knowledge",
        request=KnowledgeSearch,
        responses={200: KnowledgeResults},
    )
    def search(self, request: Request) -> Response:
        """Search documents and memories together."""
        reach, body = self.searched(), self.body(KnowledgeSearch)
        if body.get("explain"):
            require_admin(self.caller, "Only an admin may have a search explained.")
            answer = explained_search(scope=reach, search=_search(body))
            return Response({**_results(answer.results), "explain": represent_explanation(answer.explanation)})
        return Response(_results(search_knowledge(scope=reach, search=_search(body))))


def _results(results: list[Result]) -> dict[str, Any]:
    return {"results": [represent_result(result) for result in results]}


def _search(body: dict[str, Any]) -> Search:
    filters = {
        name: tuple(body.get(name) or ()) for name in ("memory_ids", "memory_tags", "document_paths", "document_ids")
    }
    return Search(
        query=body.get("query") or "",
        limit=effective_limit(body.get("limit")),
        min_score=body.get("min_score"),
        ranking=Ranking(body["ranking"]) if body.get("ranking") else None,
        rerank=body.get("rerank", False),
        **filters,
    )
