"""REST of the records of files."""

from rest_framework.request import Request
from rest_framework.response import Response

from soat.core.body import free_object
from soat.core.fields import TAG_MAP, TagMap
from soat.core.openapi import in_body, operation
from soat.core.pages import ProjectPageQuery, paged
from soat.files import services
from soat.files.api import schemas
from soat.files.models import File
from soat.files.querysets import readable_file
from soat.files.representations import represent_file
from soat.tenancy.viewsets import ResourceViewSet


class FileViewSet(ResourceViewSet):
    """Files."""

    @operation(
        "listFiles",
        action="files:GetFile",
        tag="files",
        query=ProjectPageQuery,
        responses={200: schemas.FilePage},
    )
    def list(self, request: Request) -> Response:
        """List files, newest first."""
        files = File.objects.select_related("project").order_by("-created_at", "-id")
        return Response(paged(self.listed().of(File).filter(files), self.query(ProjectPageQuery), represent_file))

    @operation(
        "createFile",
        action="files:CreateFile",
        tag="files",
        request=schemas.FileCreate,
        responses={201: schemas.FileRecord},
    )
    def create(self, request: Request) -> Response:
        """Make the record of a file whose bytes are kept elsewhere: it can be found, but not downloaded or ingested."""
        project, body = self.target_project_and_body(schemas.FileCreate)
        new = services.described_file(
            prefix=body.get("prefix"),
            filename=body.get("filename"),
            declared=body.get("content_type"),
            metadata=body.get("metadata"),
        )
        self.access.require(File(project=project, path=new.path))
        file = services.create_file_record(project=project, new=new, size=body.get("size"))
        return Response(represent_file(file), status=201)

    @operation("getFile", action="files:GetFile", tag="files", responses={200: schemas.FileRecord})
    def retrieve(self, request: Request, file_id: str) -> Response:
        """Return a file's record."""
        return Response(represent_file(readable_file(self.access, file_id)))

    @operation("deleteFile", action="files:DeleteFile", tag="files", responses={204: None})
    def destroy(self, request: Request, file_id: str) -> Response:
        """Delete a file and its bytes."""
        services.delete_file(readable_file(self.access, file_id), access=self.access)
        return Response(status=204)

    @operation(
        "updateFileMetadata",
        action="files:UpdateFileMetadata",
        tag="files",
        request=schemas.FileUpdate,
        responses={200: schemas.FileRecord},
    )
    def update_metadata(self, request: Request, file_id: str) -> Response:
        """Change a file's metadata, folder or name. A document that stands on it keeps its own path."""
        changes = self.body(schemas.FileUpdate)
        file = readable_file(self.access, file_id)
        self.access.require_changed(file, services.path_change(file, changes))
        return Response(represent_file(services.update_file(file=file, changes=changes, access=self.access)))

    @operation("getFileTags", action="files:GetFile", tag="files", responses={200: TAG_MAP})
    def tags(self, request: Request, file_id: str) -> Response:
        """Return the tags."""
        return Response(readable_file(self.access, file_id).tags)

    @operation(
        "replaceFileTags",
        action="files:UpdateFileMetadata",
        tag="files",
        request=in_body(TAG_MAP),
        responses={200: TAG_MAP},
    )
    def replace_tags(self, request: Request, file_id: str) -> Response:
        """Replace the tags."""
        return self._set_tags(file_id, merge=False)

    @operation(
        "mergeFileTags",
        action="files:UpdateFileMetadata",
        tag="files",
        request=in_body(TAG_MAP),
        responses={200: TAG_MAP},
    )
    def merge_tags(self, request: Request, file_id: str) -> Response:
        """Add tags and change those that are named."""
        return self._set_tags(file_id, merge=True)

    def _set_tags(self, file_id: str, *, merge: bool) -> Response:
        tags = free_object(TagMap(), self.request.data, "tags")
        file = readable_file(self.access, file_id)
        self.access.require_changed(file, {"tags": {**file.tags, **tags} if merge else tags})
        return Response(services.set_file_tags(file=file, tags=tags, merge=merge, access=self.access))
