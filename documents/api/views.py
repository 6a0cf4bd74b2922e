"""REST of documents."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from documents import services, waiting
from documents.api import schemas
from documents.models import Document
from documents.querysets import listed_documents, readable_document
from documents.representations import (
    represent_document,
    represent_document_status,
    represent_document_with_content,
    represent_ingested_document,
)
from documents.services import NewDocument
from soat.core.body import free_object
from soat.core.errors import NotFound, ValidationFailed
from soat.core.fields import TAG_MAP, TagMap
from soat.core.openapi import in_body, operation
from soat.core.pages import paged
from soat.files.querysets import readable_file
from soat.tenancy.viewsets import ResourceViewSet


class DocumentViewSet(ResourceViewSet):
    """Documents."""

    @operation(
        "listDocuments",
        action="documents:ListDocuments",
        tag="documents",
        query=schemas.DocumentListQuery,
        responses={200: schemas.DocumentPageList},
    )
    def list(self, request: Request) -> Response:
        """List documents, newest first, without their content."""
        reach = self.listed()
        query = self.query(schemas.DocumentListQuery)
        return Response(paged(listed_documents(reach, query.get("path_prefix")), query, represent_document))

    @operation(
        "createDocument",
        action="documents:CreateDocument",
        tag="documents",
        request=schemas.DocumentCreate,
        responses={201: schemas.DocumentRecord},
    )
    def create(self, request: Request) -> Response:
        """Make a plain-text document; it is searchable when this answers."""
        project, body = self.target_project_and_body(schemas.DocumentCreate)
        self.access.require(
            Document(
                project=project,
                path=services.path_of_new(body.get("path"), body.get("filename")),
                tags=body.get("tags"),
            )
        )
        new = NewDocument(
            content=body["content"],
            path=body.get("path"),
            filename=body.get("filename"),
            title=body.get("title"),
            metadata=body.get("metadata"),
            tags=body.get("tags"),
            chunking=schemas.chunk_request(body),
        )
        return Response(represent_document(services.create_document(project=project, new=new)), status=201)

    @operation(
        "ingestDocument",
        action="documents:IngestDocument",
        tag="documents",
        request=schemas.DocumentIngest,
        query=schemas.WaitQuery,
        responses={201: schemas.IngestedDocumentRecord, 202: schemas.IngestedDocumentRecord},
    )
    def ingest(self, request: Request) -> Response:
        """Turn a stored file into a searchable document, in a worker."""
        project, body = self.target_project_and_body(schemas.DocumentIngest)
        wait = self._wait()
        try:
            file = readable_file(self.caller.access("files:GetFile"), body["file_id"])
        except NotFound:
            file = None
        if file is None or file.project_id != project.pk:
            raise ValidationFailed("file_id names no file of this project.", code="FILE_NOT_FOUND")
        self.access.require(
            Document(
                project=project, path=services.path_of_ingested(file, body.get("path_prefix")), tags=body.get("tags")
            )
        )
        waiting.refuse_large_wait(file, wait=wait)
        document = services.ingest_document(
            project=project,
            file=file,
            path_prefix=body.get("path_prefix"),
            tags=body.get("tags"),
            chunking=schemas.chunk_request(body),
            access=self.access,
        )
        return _accepted_or_settled(document, wait=wait)

    @operation("getDocument", action="documents:GetDocument", tag="documents", responses={200: schemas.DocumentRecord})
    def retrieve(self, request: Request, document_id: str) -> Response:
        """Return a document with its text."""
        document = self._document(document_id)
        return Response(represent_document_with_content(waiting.current_state(document)))

    @operation("deleteDocument", action="documents:DeleteDocument", tag="documents", responses={204: None})
    def destroy(self, request: Request, document_id: str) -> Response:
        """Delete a document; its chunks are gone from search in the same moment."""
        services.delete_document(document=self._document(document_id), access=self.access)
        return Response(status=204)

    @operation(
        "updateDocument",
        action="documents:UpdateDocument",
        tag="documents",
        request=schemas.DocumentUpdate,
        responses={200: schemas.DocumentRecord},
    )
    def partial_update(self, request: Request, document_id: str) -> Response:
        """Change fields; a new content is cut and embedded again."""
        body = self.body(schemas.DocumentUpdate)
        document = self._document(document_id)
        self.access.require_changed(document, body)
        changed = services.update_document(document=document, changes=body, access=self.access)
        return Response(represent_document(changed))

    @operation(
        "getDocumentStatus",
        action="documents:GetDocument",
        tag="documents",
        responses={200: schemas.DocumentStatusRecord},
    )
    def status(self, request: Request, document_id: str) -> Response:
        """Return how far the ingestion is."""
        document = self._document(document_id)
        return Response(represent_document_status(waiting.current_state(document)))

    @operation(
        "reingestDocument",
        action="documents:IngestDocument",
        tag="documents",
        request=schemas.DocumentReingest,
        query=schemas.WaitQuery,
        responses={201: schemas.IngestedDocumentRecord, 202: schemas.IngestedDocumentRecord},
    )
    def reingest(self, request: Request, document_id: str) -> Response:
        """Read the stored file again; the old chunks are searchable until the new ones are ready."""
        body = self.body(schemas.DocumentReingest)
        wait = self._wait()
        document = self._document(document_id)
        waiting.refuse_large_wait(document.file, wait=wait)
        document = services.reingest_document(
            document=document, chunking=schemas.chunk_request(body), access=self.access
        )
        return _accepted_or_settled(document, wait=wait)

    @operation("getDocumentTags", action="documents:GetDocument", tag="documents", responses={200: TAG_MAP})
    def tags(self, request: Request, document_id: str) -> Response:
        """Return the tags."""
        return Response(self._document(document_id).tags or {})

    @operation(
        "replaceDocumentTags",
        action="documents:UpdateDocument",
        tag="documents",
        request=in_body(TAG_MAP),
        responses={200: TAG_MAP},
    )
    def replace_tags(self, request: Request, document_id: str) -> Response:
        """Replace the tags."""
        return self._set_tags(document_id, merge=False)

    @operation(
        "mergeDocumentTags",
        action="documents:UpdateDocument",
        tag="documents",
        request=in_body(TAG_MAP),
        responses={200: TAG_MAP},
    )
    def merge_tags(self, request: Request, document_id: str) -> Response:
        """Add tags and change those that are named."""
        return self._set_tags(document_id, merge=True)

    def _set_tags(self, document_id: str, *, merge: bool) -> Response:
        tags = free_object(TagMap(), self.request.data, "tags")
        document = self._document(document_id)
        self.access.require_changed(document, {"tags": {**(document.tags or {}), **tags} if merge else tags})
        return Response(services.set_document_tags(document=document, tags=tags, merge=merge, access=self.access))

    def _document(self, document_id: str) -> Document:
        return readable_document(self.access, document_id)

    def _wait(self) -> bool:
        return bool(self.query(schemas.WaitQuery).get("wait", False))


def _accepted_or_settled(document: Document, *, wait: bool) -> Response:
    settled = wait and waiting.await_settled(document)
    record: dict[str, Any] = represent_ingested_document(waiting.reread(document))
    return Response(record, status=201 if settled else 202)
