"""The latest questions keep their vectors, and nothing else is kept."""

import numpy as np
import pytest

from embeddings.port import Answer, EmbeddingRejected, EmbeddingUnavailable, Reason, TextKind
from embeddings.query_memory import QueryMemory
from embeddings.services import configured_embedder
from tests.conftest import Cast
from tests.knowledge.world import search
from tests.memories.fakes import FailingEmbedder, FakeEmbedder, at_cosine, use_embedder
from tests.memories.rest import new_memory, write

QUERY, DOCUMENT = TextKind.QUERY, TextKind.DOCUMENT


def answer(text: str) -> Answer:
    return EmbeddingRejected(Reason.NO_CONTENT, "nothing") if text == "?" else at_cosine(len(text) / 10)


def test_the_latest_questions_are_not_asked_twice() -> None:
    inner = FakeEmbedder(answer)
    memory = QueryMemory(inner, 2)
    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        (vector,) = memory.embed([text], kind=QUERY)
        assert np.array_equal(np.asarray(vector), at_cosine(len(text) / 10))
    assert [text for _, text in inner.asked] == ["a", "bb", "ccc", "bb"]


def test_a_batch_asks_for_what_is_missing_once_and_keeps_its_order() -> None:
    inner = FakeEmbedder(answer)
    memory = QueryMemory(inner, 9)
    memory.embed(["bb"], kind=QUERY)
    vectors = memory.embed(["ccc", "bb", "ccc", "a"], kind=QUERY)
    for vector, cosine in zip(vectors, (0.3, 0.2, 0.3, 0.1), strict=True):
        assert np.array_equal(np.asarray(vector), at_cosine(cosine))
    assert [text for _, text in inner.asked] == ["bb", "ccc", "a"]


def test_texts_that_are_stored_and_refusals_are_not_kept() -> None:
    inner = FakeEmbedder(answer)
    memory = QueryMemory(inner, 9)
    for _ in range(2):
        memory.embed(["a"], kind=DOCUMENT)
        assert isinstance(memory.embed(["?"], kind=QUERY)[0], EmbeddingRejected)
    assert inner.asked == [(DOCUMENT, "a"), (QUERY, "?")] * 2
    with pytest.raises(EmbeddingUnavailable):
        QueryMemory(FailingEmbedder(), 9).embed(["a"], kind=QUERY)


def test_a_question_that_is_kept_is_answered_as_before(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = new_memory(cast.a)["id"]
    write(cast.a, memory, "The user drinks green tea.")
    body = {"query": "tea", "memory_ids": [memory]}
    plain = search(cast.a, **body)
    use_embedder(monkeypatch, QueryMemory(configured_embedder(), 9))
    assert search(cast.a, **body) == search(cast.a, **body) == plain
