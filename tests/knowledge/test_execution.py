"""A search is planned once a connection, and finds the same as one that is planned each time."""

from typing import Any

import pytest
from django.db import connection

from tests.knowledge.world import World, search

QUERY = "What does the user drink?"


def prepared() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [statement for (statement,) in cursor.fetchall() if "scored" in statement]


def test_a_search_that_is_asked_again_and_again_is_prepared(world: World) -> None:
    for number in range(8):
        assert search(world.cast.a, query=f"{QUERY} {number}", memory_tags=["*"])
    statements = prepared()
    assert len(statements) == 2, "one for each source"
    assert all("$1" in statement and "$2" not in statement for statement in statements)


def test_what_is_prepared_finds_the_same(world: World, settings: Any) -> None:
    body = {"query": QUERY, "memory_tags": ["*"], "limit": 100}
    settings.DATABASE_PREPARED_STATEMENTS = False
    planned = search(world.cast.a, **body)
    settings.DATABASE_PREPARED_STATEMENTS = True
    assert all(search(world.cast.a, **body) == planned for _ in range(12))
    assert prepared()


@pytest.mark.parametrize("text", ["%s", "%", "%(query)s", "7%", "$1", "'; --", "{0}"])
def test_what_a_caller_writes_is_never_a_place_for_the_vector(world: World, text: str) -> None:
    for ranking in ("cosine", "hybrid"):
        assert search(world.cast.a, query=text, document_paths=[f"/{text}"], ranking=ranking) == []
        assert search(world.cast.a, query=text, document_ids=[text], memory_tags=[text], ranking=ranking) == []
