"""The other settings and embedders that a deployment may come up with."""

from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.db import connection

from embeddings.indexes import vector_tables
from embeddings.models import EmbeddingSpace


@pytest.fixture
def other_model(settings: LazySettings) -> None:
    """Settings that name another model than the one whose vectors are stored."""
    settings.EMBEDDING_MODEL = "all-other-model"


@pytest.fixture
def no_space(transactional_db: None) -> Iterator[None]:
    """A database without a space and without any vector index; such indexes do not outlive the test."""
    _drop_indexes()
    EmbeddingSpace.objects.all().delete()
    yield
    _drop_indexes()


def _drop_indexes() -> None:
    names = [model._meta.db_table for model in vector_tables()]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename = ANY(%s) AND indexdef LIKE '%%hnsw%%'", [names]
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP INDEX {name}")
