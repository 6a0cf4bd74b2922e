"""Route of the search."""

from django.urls import path

from knowledge.api.views import KnowledgeViewSet

urlpatterns = [path("knowledge/search", KnowledgeViewSet.as_view({"post": "search"}))]
