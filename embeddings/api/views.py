"""REST of the raw embedding endpoint."""

from rest_framework.request import Request
from rest_framework.response import Response

from embeddings.api.schemas import EmbeddingsRequest, EmbeddingsResponse
from embeddings.services import embed_raw
from soat.core.errors import ValidationFailed
from soat.core.openapi import operation
from soat.tenancy.viewsets import ResourceViewSet


class EmbeddingViewSet(ResourceViewSet):
    """Vectors for an application's own use."""

    @operation(
        "createEmbeddings",
        action="embeddings:CreateEmbeddings",
        tag="embeddings",
        request=EmbeddingsRequest,
        responses={200: EmbeddingsResponse},
    )
    def create(self, request: Request) -> Response:
        """Embed one text or several."""
        self.access.require_anywhere()
        body = self.body(EmbeddingsRequest)
        texts = body.get("inputs")
        if texts is None and "input" not in body:
            raise ValidationFailed("Give input or inputs.", meta={"missingFields": ["input"]})
        if texts is not None and "input" in body:
            raise ValidationFailed(
                "Give input or inputs, not both.", meta={"fields": {"inputs": "stands beside input."}}
            )
        if texts is None:
            (vector,) = embed_raw([body["input"]], field="input")
            return Response({"embedding": vector.tolist()})
        if not texts:
            raise ValidationFailed("inputs must not be empty.", meta={"fields": {"inputs": "must not be empty."}})
        return Response({"embeddings": [vector.tolist() for vector in embed_raw(texts, field="inputs")]})
