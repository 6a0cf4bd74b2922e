"""How files are read."""

from django.db.models import QuerySet

from soat.core.errors import NotFound
from soat.files.models import File
from soat.tenancy.access import Caller


def readable_files(caller: Caller, action: str) -> QuerySet[File]:
    """Return the files on which the caller may do ``action``, newest first."""
    rows = File.objects.select_related("project").order_by("-created_at", "-id")
    return caller.projects(action).filter(rows)


def readable_file(caller: Caller, action: str, public_id: str) -> File:
    """Return one of ``readable_files``. Raises ``NotFound``."""
    file = readable_files(caller, action).filter(public_id=public_id).first()
    if file is None:
        raise NotFound("There is no such file.")
    return file
