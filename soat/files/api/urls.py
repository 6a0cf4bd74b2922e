"""Routes of files."""

from django.urls import path

from soat.files.api.downloads import DownloadViewSet
from soat.files.api.uploads import Base64UploadViewSet, PresignedUploadViewSet, TokenUploadViewSet, UploadViewSet
from soat.files.api.views import FileViewSet

urlpatterns = [
    path("files", FileViewSet.as_view({"get": "list", "post": "create"})),
    path("files/upload", UploadViewSet.as_view({"post": "create"})),
    path("files/upload/base64", Base64UploadViewSet.as_view({"post": "create"})),
    path("files/presigned-url", PresignedUploadViewSet.as_view({"post": "create"})),
    path("files/upload/<str:token>", TokenUploadViewSet.as_view({"post": "create"})),
    path("files/<public_id:file_id>", FileViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("files/<public_id:file_id>/download", DownloadViewSet.as_view({"get": "stream"})),
    path("files/<public_id:file_id>/download/base64", DownloadViewSet.as_view({"get": "base64"})),
    path("files/<public_id:file_id>/metadata", FileViewSet.as_view({"patch": "update_metadata"})),
    path(
        "files/<public_id:file_id>/tags",
        FileViewSet.as_view({"get": "tags", "put": "replace_tags", "patch": "merge_tags"}),
    ),
]
