"""What a process says about its embedder when it starts."""

import logging

from django.db import DatabaseError, connection

from embeddings.spaces import SpaceState, space_status

logger = logging.getLogger(__name__)


def warn_unless_ready() -> None:
    """Log that there is no embedder (a warning), or one of another space than the database's (an error).

    A database that does not answer yet is no matter of this.
    """
    try:
        status = space_status()
    except DatabaseError:
        return
    finally:
        connection.close()
    if status.state is SpaceState.NOT_CONFIGURED:
        logger.warning(
            "Documents and facts are stored without vectors, and no query can be answered. %s", status.message
        )
    elif status.state is SpaceState.MISMATCH:
        logger.error("NOTHING IS EMBEDDED AND NO QUERY IS ANSWERED. %s", status.message)
