"""What a search costs, and what it never asks the database for."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from embeddings.port import EmbedderMisconfigured, EmbeddingUnavailable, TextKind
from embeddings.services import configured_embedder
from tests.knowledge.world import SEARCH, World, search
from tests.memories.fakes import CountingEmbedder, FailingEmbedder, use_embedder
from tests.memories.rest import Record, assert_error

# By what is read first.
AUTHENTICATION = "tenancy_apikey"
SPACE = "embeddings_embeddingspace"
CHUNKS = "documents_documentchunk"
ENTRIES = "memories_memoryentry"
DISTANCE = re.compile(r"v\.embedding(::halfvec\(\d+\))? <=> \(SELECT vector FROM asked\)")


def captured(world: World, **body: Any) -> list[str]:
    """Return the statements of one search; the first search of the process is not counted."""
    search(world.cast.a, **body)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        search(world.cast.a, **body)
    return [query["sql"] for query in queries]


def named(sql: str) -> str:
    """Say what a statement reads."""
    tables = re.findall(r'(?:FROM|JOIN) "?(\w+)"?', sql)
    known = [AUTHENTICATION, SPACE, CHUNKS, ENTRIES]
    return next(name for name in known if name in tables)


@pytest.mark.parametrize(
    ("body", "statements"),
    [
        ({"query": "tea"}, [AUTHENTICATION, SPACE, CHUNKS]),
        (
            {"query": "tea", "memory_tags": ["*"], "document_paths": ["/"], "min_score": 0.1},
            [AUTHENTICATION, SPACE, CHUNKS, ENTRIES],
        ),
        ({"document_paths": ["/"]}, [AUTHENTICATION, CHUNKS]),
        ({"memory_tags": ["*"]}, [AUTHENTICATION, ENTRIES]),
        ({"memory_tags": ["*"], "document_paths": ["/"], "limit": 100}, [AUTHENTICATION, CHUNKS, ENTRIES]),
    ],
)
def test_the_statements_of_a_search(world: World, body: Record, statements: list[str]) -> None:
    assert [named(sql) for sql in captured(world, **body)] == statements


def test_a_named_project_costs_one_statement_more(world: World) -> None:
    named_project = captured(world, query="tea", project_id=world.cast.project_a.public_id)
    assert len(named_project) == len(captured(world, query="tea")) + 1


def test_no_vector_is_selected(world: World) -> None:
    """A vector stands in a distance and nowhere else, in neither branch of the statement."""
    statements = captured(world, query="tea", memory_tags=["*"])
    distances = 0
    for sql in statements:
        distances += len(DISTANCE.findall(sql))
        rest = DISTANCE.sub("", sql)
        assert not re.search(r"\bembedding\b", rest)
        assert not re.search(r"\bv\.\*|SELECT \*", rest)
    assert distances == 6
    for result in search(world.cast.a, query="tea", memory_tags=["*"], limit=100):
        assert not [value for value in result.values() if isinstance(value, list) and len(value) > 10]


def test_the_query_is_embedded_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = CountingEmbedder(configured_embedder())
    use_embedder(monkeypatch, embedder)
    search(world.cast.a, query="What does the user drink?", memory_tags=["*"], document_paths=["/"])
    assert embedder.asked == [(TextKind.QUERY, True, ["What does the user drink?"])]


@pytest.mark.parametrize("body", [{"memory_tags": ["*"]}, {"query": " ", "document_paths": ["/"]}])
def test_without_a_query_nothing_is_embedded(world: World, monkeypatch: pytest.MonkeyPatch, body: Record) -> None:
    use_embedder(monkeypatch, FailingEmbedder(AssertionError("asked")))  # type: ignore[arg-type]
    assert search(world.cast.a, **body)


@pytest.mark.parametrize("error", [EmbeddingUnavailable("refused"), EmbedderMisconfigured("no such model")])
def test_a_query_that_cannot_be_embedded_is_no_empty_result(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    use_embedder(monkeypatch, FailingEmbedder(error))  # type: ignore[arg-type]
    answer = world.cast.a.post(SEARCH, {"query": "tea"}, format="json")
    assert_error(answer, 503, "EMBEDDING_UNAVAILABLE")
    assert int(answer.headers["Retry-After"]) >= 1
    assert search(world.cast.a, memory_tags=["*"])


def test_an_embedder_that_cannot_be_built_is_no_crash(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise EmbedderMisconfigured("EMBEDDING_MODEL must be one that the provider has.")

    monkeypatch.setattr("embeddings.services.configured_embedder", broken)
    for path, body in [(SEARCH, {"query": "tea"}), ("/api/v1/embeddings", {"input": "tea"})]:
        assert_error(world.cast.a.post(path, body, format="json"), 503, "EMBEDDING_UNAVAILABLE")


def test_a_query_that_says_nothing_to_the_model_finds_nothing(world: World) -> None:
    for query in ("\U0001f34e", "\u200b"):
        assert search(world.cast.a, query=query, memory_tags=["*"]) == []
