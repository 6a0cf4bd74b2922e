"""How files are read."""

from soat.files.models import File
from soat.tenancy.access import Access

NO_FILE = "There is no such file."


def readable_file(access: Access, public_id: str) -> File:
    """Return a file for the action of ``access``. Raises ``NotFound`` and ``Forbidden``."""
    return access.get(File.objects.select_related("project"), public_id, NO_FILE)
