"""The provider ``openai``: what it sends, and what OpenAI's and other servers' answers mean."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from embeddings.batching import embed_texts
from embeddings.port import (
    EmbedderMisconfigured,
    EmbeddingConfig,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    TextKind,
)
from embeddings.providers.openai import build
from tests.embeddings.conftest import Remote
from tests.embeddings.model_server import Fault, text_vector

TEXTS = ["alpha", "beta", "gamma"]


@pytest.fixture
def openai(remotes: Callable[[str], Remote]) -> Remote:
    return remotes("openai")


@pytest.fixture
def compatible(remotes: Callable[[str], Remote]) -> Remote:
    return remotes("compatible")


def embed(remote: Remote) -> list[list[float]]:
    found = remote.embedder.embed(TEXTS, kind=TextKind.DOCUMENT)
    return [[] if isinstance(answer, EmbeddingRejected) else answer.tolist() for answer in found]


def expected() -> list[Any]:
    return [pytest.approx(text_vector(text, 8), abs=1e-6) for text in TEXTS]


def test_a_request_to_a_model_of_openai(openai: Remote) -> None:
    embed(openai)
    assert openai.server.paths == ["/v1/embeddings"]
    assert openai.server.requests == [
        {"model": "text-embedding-3-small", "input": TEXTS, "encoding_format": "float", "dimensions": 8}
    ]


def test_dimensions_are_not_asked_of_models_that_may_not_know_the_field(compatible: Remote) -> None:
    embed(compatible)
    assert compatible.server.requests == [{"model": "nomic-ai/test-embed", "input": TEXTS, "encoding_format": "float"}]


@pytest.mark.parametrize(
    ("model", "dimensions", "sentence"),
    [
        ("text-embedding-3-small", 3_072, "at most 1536"),
        ("openai/text-embedding-3-large", 3_073, "at most 3072"),
        ("text-embedding-ada-002", 1_024, "has 1536"),
    ],
)
def test_dimensions_that_a_known_model_has_not(model: str, dimensions: int, sentence: str) -> None:
    with pytest.raises(EmbedderMisconfigured, match=f"EMBEDDING_DIMENSIONS is {dimensions}; .*{sentence}"):
        build(EmbeddingConfig("openai", model, dimensions, api_key="key"))


def test_only_openai_itself_must_have_a_key(compatible: Remote) -> None:
    embedder = compatible.build(api_key=None)
    embedder.embed(TEXTS, kind=TextKind.DOCUMENT)
    embedder.close()
    assert "authorization" not in compatible.server.headers_seen[-1]
    with pytest.raises(EmbedderMisconfigured, match="EMBEDDING_API_KEY"):
        build(EmbeddingConfig("openai", "text-embedding-3-small", 1_536))


def test_a_slash_at_the_end_of_the_address_does_no_harm(openai: Remote) -> None:
    embedder = openai.build(base_url=openai.server.url + "/")
    embedder.embed(TEXTS, kind=TextKind.DOCUMENT)
    embedder.close()
    assert openai.server.paths == ["/v1/embeddings"]


def test_vectors_are_put_in_order_by_their_index(openai: Remote) -> None:
    def shuffled(payload: Any) -> Any:
        assert [item["index"] for item in payload["data"]] == [1, 0, 2]
        return payload

    openai.server.script.append(Fault(rewrite=shuffled))
    assert embed(openai) == expected()


def test_vectors_without_any_index_stand_in_order(compatible: Remote) -> None:
    def bare(payload: Any) -> Any:
        items = sorted(payload["data"], key=lambda item: item["index"])
        return {"data": [{"embedding": item["embedding"]} for item in items]}

    compatible.server.script.append(Fault(rewrite=bare))
    assert embed(compatible) == expected()


def replaced(**fields: Any) -> Callable[[Any], Any]:
    """Return a change of the first vector's item."""
    return lambda payload: {"data": [{**payload["data"][0], **fields}, *payload["data"][1:]]}


@pytest.mark.parametrize(
    ("rewrite", "reason"),
    [
        (replaced(index=0), Reason.WRONG_COUNT),
        (replaced(index=7), Reason.WRONG_COUNT),
        (replaced(index=None), Reason.MALFORMED_ANSWER),
        (replaced(index="one"), Reason.MALFORMED_ANSWER),
        (lambda payload: {"data": payload["data"] * 2}, Reason.WRONG_COUNT),
        (lambda payload: {"data": None}, Reason.MALFORMED_ANSWER),
        (lambda payload: {"data": ["row"] * 3}, Reason.MALFORMED_ANSWER),
        (lambda payload: {"data": [{}] * 3}, Reason.MALFORMED_ANSWER),
        (lambda payload: {}, Reason.MALFORMED_ANSWER),
        (lambda payload: [], Reason.MALFORMED_ANSWER),
        (lambda payload: None, Reason.MALFORMED_ANSWER),
    ],
)
def test_an_answer_of_another_shape_is_given_to_nobody(openai: Remote, rewrite: Any, reason: Reason) -> None:
    openai.server.script.append(Fault(rewrite=rewrite))
    with pytest.raises(EmbeddingRejected) as caught:
        embed(openai)
    assert caught.value.reason is reason


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("AACAPwAAAAA=", Reason.MALFORMED_ANSWER),
        ([10**400] * 8, Reason.NOT_FINITE),
        ([None] * 8, Reason.NOT_FINITE),
        ([[1.0] * 8], Reason.WRONG_DIMENSIONS),
    ],
)
def test_a_row_that_holds_no_vector_costs_only_its_text(openai: Remote, row: Any, reason: Reason) -> None:
    openai.server.script.append(Fault(rewrite=replaced(embedding=row)))
    first, bad, last = openai.embedder.embed(TEXTS, kind=TextKind.DOCUMENT)
    assert isinstance(bad, EmbeddingRejected)
    assert bad.reason is reason
    assert not isinstance(first, EmbeddingRejected)
    assert not isinstance(last, EmbeddingRejected)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
        Fault(400, "Invalid 'input[0]': maximum input length is 8192 tokens."),
        Fault(400, "Please shorten it.", code="context_length_exceeded"),
        Fault(400, "Requested 319487 tokens, max 300000 tokens per request", code="max_tokens_per_request"),
        Fault(429, "Request too large for text-embedding-3-small on tokens per min (TPM)", code="rate_limit_exceeded"),
        Fault(413, body=b"<html>413 Request Entity Too Large</html>"),
        Fault(413, body=b'{"error": "Input validation error: `inputs` must have less than 512 tokens. Given: 516"}'),
        Fault(400, body=b'{"object": "error", "message": "maximum context length is 512", "code": 400}'),
        Fault(400, body=b'{"detail": "Input id 0 has 9000 tokens, exceeding max 8192 tokens."}'),
        Fault(500, "input (600 tokens) is too large to process. increase the physical batch size"),
        Fault(400, body=b"the input length exceeds the context length"),
    ],
)
def test_what_servers_say_to_more_than_they_take(openai: Remote, fault: Fault) -> None:
    openai.server.script.append(fault)
    with pytest.raises(EmbeddingRejected) as caught:
        embed(openai)
    assert caught.value.reason is Reason.TOO_LONG


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (Fault(429, "You exceeded your current quota", code="insufficient_quota"), "no quota left"),
        (Fault(402, "Insufficient credits"), "no quota left"),
        (Fault(400, "no such model", code="model_not_found"), "EMBEDDING_MODEL"),
        (Fault(400, "this model does not support embeddings"), "EMBEDDING_MODEL"),
        (Fault(404, body=b"404 page not found"), "EMBEDDING_BASE_URL"),
        (Fault(405, body=b'{"detail": "Method Not Allowed"}'), "EMBEDDING_BASE_URL"),
        (Fault(400, "This model does not support specifying dimensions."), "EMBEDDING_DIMENSIONS"),
        (Fault(400, "Invalid value for 'dimensions' = 4000."), "EMBEDDING_DIMENSIONS"),
        (Fault(403, "Project has no access to the model", code="model_not_found"), "EMBEDDING_MODEL"),
    ],
)
def test_what_an_operator_must_look_at(openai: Remote, fault: Fault, advice: str) -> None:
    openai.server.script.append(fault)
    with pytest.raises(EmbedderMisconfigured, match=advice):
        embed(openai)


def test_no_quota_is_not_retried_and_a_rate_limit_is(openai: Remote) -> None:
    naps: list[float] = []
    openai.server.always = Fault(429, "You exceeded your current quota", code="insufficient_quota")
    embed_texts(openai.embedder, TEXTS, kind=TextKind.DOCUMENT, sleep=naps.append)
    assert (len(openai.server.requests), naps) == (1, [])
    openai.server.always = None
    openai.server.script.append(Fault(429, "Rate limit reached", headers={"retry-after-ms": "1500"}))
    embedded = embed_texts(openai.embedder, TEXTS, kind=TextKind.DOCUMENT, sleep=naps.append)
    assert [text.error for text in embedded] == [None] * 3
    assert naps == [1.5]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(rewrite=lambda payload: {"error": {"message": "Provider returned error", "code": 429}}),
        Fault(rewrite=lambda payload: {"error": {"message": "Provider returned error"}}),
        Fault(rewrite=lambda payload: {"error": {"message": "Provider returned error", "code": 200}}),
        Fault(400, body=b"<html>400 Bad Request</html>"),
        Fault(body=b"[" * 200_000),
        Fault(500, body=b"[" * 200_000),
    ],
)
def test_what_a_retry_can_heal(openai: Remote, fault: Fault) -> None:
    openai.server.script.append(fault)
    with pytest.raises(EmbeddingUnavailable):
        embed(openai)


def test_an_answer_that_trickles_in_is_given_up(openai: Remote) -> None:
    openai.server.script.append(Fault(pause=0.15))
    started = time.monotonic()
    with pytest.raises(EmbeddingUnavailable, match="in time"):
        openai.embedder.embed(TEXTS, kind=TextKind.QUERY, urgent=True)
    assert time.monotonic() - started < 1.0


def test_an_answer_without_end_is_given_up(openai: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("embeddings.providers.remote.LONGEST_ANSWER", 100)
    with pytest.raises(EmbeddingUnavailable, match="more than 100 bytes"):
        embed(openai)


def test_a_batch_of_texts_that_fit_fits_a_request_to_openai(openai: Remote) -> None:
    assert openai.embedder.max_batch * 8_191 <= 300_000


def test_windows_are_shorter_where_the_models_input_is_not_known(openai: Remote, compatible: Remote) -> None:
    text = "Some words that make up a long text. " * 400
    assert max(end - start for start, end in openai.embedder.windows(text)) in range(4_000, 6_145)
    assert max(end - start for start, end in compatible.embedder.windows(text)) in range(1_000, 1_537)
