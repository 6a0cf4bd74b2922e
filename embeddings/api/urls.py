"""Route of the raw embedding endpoint."""

from django.urls import path

from embeddings.api.views import EmbeddingViewSet

urlpatterns = [path("embeddings", EmbeddingViewSet.as_view({"post": "create"}))]
