"""A project of its own for a run, gone afterwards."""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager

from soat.tenancy.deletion import mark_project_deleted, purge_project
from soat.tenancy.models import Project
from soat.tenancy.projects import create_project

logger = logging.getLogger(__name__)


@contextmanager
def scratch_project(name: str, text_search_config: str = "") -> Iterator[Project]:
    """Create a project, and delete it with all that was put into it when the block ends, however it ends."""
    project = create_project(name=name)
    project.text_search_config = text_search_config
    project.save(update_fields=["text_search_config"])
    try:
        yield project
    finally:
        mark_project_deleted(project=project)
        if not purge_project(project.pk, seconds=math.inf):
            logger.warning("Project %s is marked as deleted; the workers go on with it", project.public_id)
