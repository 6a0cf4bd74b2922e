"""Routes of documents."""

from django.urls import path

from documents.api.views import DocumentViewSet

urlpatterns = [
    path("documents", DocumentViewSet.as_view({"get": "list", "post": "create"})),
    path("documents/ingest", DocumentViewSet.as_view({"post": "ingest"})),
    path(
        "documents/<public_id:document_id>",
        DocumentViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path("documents/<public_id:document_id>/status", DocumentViewSet.as_view({"get": "status"})),
    path("documents/<public_id:document_id>/ingest", DocumentViewSet.as_view({"post": "reingest"})),
    path(
        "documents/<public_id:document_id>/tags",
        DocumentViewSet.as_view({"get": "tags", "put": "replace_tags", "patch": "merge_tags"}),
    ),
]
