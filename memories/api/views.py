"""REST of memories and entries."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memories import services
from memories.api import schemas
from memories.models import Memory, MemoryEntry, SourceType
from memories.querysets import listed_entries, listed_memories, memory_for_entries, readable_entry, readable_memory
from memories.representations import represent_entry, represent_memory
from memories.services import IncomingFact, WriteAction, WriteResult
from soat.core.openapi import operation
from soat.core.pages import paged
from soat.engine.vectors import clamp_score
from soat.tenancy.viewsets import ResourceViewSet


class MemoryViewSet(ResourceViewSet):
    """Memories."""

    @operation(
        "listMemories",
        action="memories:ListMemories",
        tag="memories",
        query=schemas.MemoryListQuery,
        responses={200: schemas.MemoryPage},
    )
    def list(self, request: Request) -> Response:
        """List memories, newest first."""
        reach = self.listed()
        query = self.query(schemas.MemoryListQuery)
        return Response(paged(listed_memories(reach, query.get("tags", [])), query, represent_memory))

    @operation(
        "createMemory",
        action="memories:CreateMemory",
        tag="memories",
        request=schemas.MemoryCreate,
        responses={201: schemas.MemoryRecord},
    )
    def create(self, request: Request) -> Response:
        """Create an empty memory."""
        project, body = self.target_project_and_body(schemas.MemoryCreate)
        self.access.require(Memory(project=project, tags=body.get("tags") or []))
        memory = services.create_memory(
            project=project, name=body["name"], description=body.get("description"), tags=body.get("tags") or []
        )
        return Response(represent_memory(memory), status=201)

    @operation("getMemory", action="memories:GetMemory", tag="memories", responses={200: schemas.MemoryRecord})
    def retrieve(self, request: Request, memory_id: str) -> Response:
        """Return a memory."""
        return Response(represent_memory(self._memory(memory_id)))

    @operation(
        "updateMemory",
        action="memories:UpdateMemory",
        tag="memories",
        request=schemas.MemoryUpdate,
        responses={200: schemas.MemoryRecord},
    )
    def update(self, request: Request, memory_id: str) -> Response:
        """Change a memory's name, description or tags."""
        body = self.body(schemas.MemoryUpdate)
        memory = self._memory(memory_id)
        self.access.require_changed(memory, body)
        return Response(represent_memory(services.update_memory(memory=memory, changes=body)))

    @operation("deleteMemory", action="memories:DeleteMemory", tag="memories", responses={204: None})
    def destroy(self, request: Request, memory_id: str) -> Response:
        """Delete a memory with its entries."""
        services.delete_memory(memory=self._memory(memory_id))
        return Response(status=204)

    def _memory(self, memory_id: str) -> Memory:
        return readable_memory(self.access, memory_id)


class MemoryEntryViewSet(ResourceViewSet):
    """Memory entries."""

    @operation(
        "listMemoryEntries",
        action="memories:ListMemoryEntries",
        tag="memoryEntries",
        query=schemas.EntryListQuery,
        responses={200: schemas.MemoryEntryPage},
    )
    def list(self, request: Request) -> Response:
        """List the entries of a memory, oldest first."""
        query = self.query(schemas.EntryListQuery)
        memory = memory_for_entries(self.access, query["memory_id"])
        self.access.require_open(memory.project_id)
        rows = listed_entries(self.access, memory, include_invalidated=query.get("include_invalidated", False))
        return Response(paged(rows, query, represent_entry))

    @operation(
        "createMemoryEntry",
        action="memories:CreateMemoryEntry",
        tag="memoryEntries",
        request=schemas.EntryCreate,
        responses={200: schemas.MemoryEntryWriteResult, 201: schemas.MemoryEntryWriteResult},
    )
    def create(self, request: Request) -> Response:
        """Write a fact; the answer says whether it was created or skipped, and why."""
        self.access.require_anywhere()
        body = self.body(schemas.EntryCreate)
        memory = memory_for_entries(self.access, body["memory_id"])
        self.access.require(MemoryEntry(project_id=memory.project_id, memory=memory, tags=body.get("tags") or []))
        fact = IncomingFact(
            content=body["content"],
            source_type=body.get("source_type", SourceType.MANUAL),
            tags=tuple(body.get("tags", ())),
            metadata=body.get("metadata"),
            duplicate_threshold=body.get("duplicate_threshold"),
            force=body.get("force", False),
        )
        result = services.write_entry(memory=memory, fact=fact, access=self.access)
        return Response(_represent_result(result), status=201 if result.action is WriteAction.CREATED else 200)

    @operation(
        "getMemoryEntry",
        action="memories:GetMemoryEntry",
        tag="memoryEntries",
        responses={200: schemas.MemoryEntryRecord},
    )
    def retrieve(self, request: Request, entry_id: str) -> Response:
        """Return an entry, also an invalidated one."""
        return Response(represent_entry(readable_entry(self.access, entry_id)))

    @operation(
        "updateMemoryEntry",
        action="memories:UpdateMemoryEntry",
        tag="memoryEntries",
        request=schemas.EntryUpdate,
        responses={200: schemas.MemoryEntryRecord},
    )
    def update(self, request: Request, entry_id: str) -> Response:
        """Change an entry's content, tags or metadata."""
        body = self.body(schemas.EntryUpdate)
        entry = readable_entry(self.access, entry_id)
        self.access.require_changed(entry, body)
        return Response(represent_entry(services.update_entry(entry=entry, changes=body)))

    @operation("deleteMemoryEntry", action="memories:DeleteMemoryEntry", tag="memoryEntries", responses={204: None})
    def destroy(self, request: Request, entry_id: str) -> Response:
        """Delete an entry for good."""
        services.delete_entry(entry=readable_entry(self.access, entry_id))
        return Response(status=204)


def _represent_result(result: WriteResult) -> dict[str, Any]:
    record: dict[str, Any] = {**represent_entry(result.entry), "action": result.action, "reason": result.reason}
    if result.similarity is not None:
        record["similarity"] = clamp_score(result.similarity)
    if result.matched is not None:
        record["matched_entry_id"] = result.matched.public_id
    return record
