"""Routes of memories and entries."""

from django.urls import path

from memories.api.views import MemoryEntryViewSet, MemoryViewSet

urlpatterns = [
    path("memories", MemoryViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "memories/<public_id:memory_id>",
        MemoryViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("memory-entries", MemoryEntryViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "memory-entries/<public_id:entry_id>",
        MemoryEntryViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
]
