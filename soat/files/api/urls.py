"""Routes of files."""

from django.urls import path

from soat.files.api.views import Base64UploadViewSet, FileViewSet, UploadViewSet

urlpatterns = [
    path("files", FileViewSet.as_view({"get": "list"})),
    path("files/upload", UploadViewSet.as_view({"post": "create"})),
    path("files/upload/base64", Base64UploadViewSet.as_view({"post": "create"})),
    path("files/<public_id:file_id>", FileViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("files/<public_id:file_id>/download", FileViewSet.as_view({"get": "download"})),
]
