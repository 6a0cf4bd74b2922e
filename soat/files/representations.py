"""What a file looks like on the wire."""

from typing import Any

from soat.core.models import wire_time
from soat.files.models import File


def represent_file(file: File) -> dict[str, Any]:
    """Return a ``FileRecord``; ``project`` must be loaded."""
    return {
        "id": file.public_id,
        "project_id": file.project.public_id,
        "prefix": file.prefix,
        "filename": file.filename,
        "path": file.path,
        "content_type": file.content_type,
        "size": file.size,
        "metadata": file.metadata,
        "tags": file.tags,
        "created_at": wire_time(file.created_at),
        "updated_at": wire_time(file.updated_at),
    }
