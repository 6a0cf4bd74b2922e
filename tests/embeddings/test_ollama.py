"""The Ollama provider against a server that speaks its protocol, faults included."""

import socket
from dataclasses import replace
from typing import Any

import pytest

from embeddings.batching import Patience, embed_texts
from embeddings.port import (
    Answer,
    EmbedderMisconfigured,
    EmbeddingConfig,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    TextKind,
)
from embeddings.providers.ollama import OllamaEmbedder, build
from tests.embeddings.model_server import Fault, text_vector
from tests.embeddings.ollama_server import OllamaServer

TEXTS = ["alpha", "beta", "gamma"]
TOO_LONG = "the input length exceeds the context length"
PATIENCE = Patience(attempts=2, first_wait=0.01, longest_wait=5.0, budget=10.0, halving=True)


def embed(ollama: OllamaEmbedder, *, urgent: bool = False) -> list[Answer]:
    return ollama.embed(TEXTS, kind=TextKind.DOCUMENT, urgent=urgent)


def reasons(answers: list[Answer]) -> list[Reason | None]:
    return [answer.reason if isinstance(answer, EmbeddingRejected) else None for answer in answers]


def test_a_request_names_the_model_and_forbids_truncation(server: OllamaServer, ollama: OllamaEmbedder) -> None:
    answers = embed(ollama)
    assert server.requests == [{"model": server.model, "input": TEXTS, "truncate": False}]
    for text, answer in zip(TEXTS, answers, strict=True):
        assert not isinstance(answer, EmbeddingRejected)
        assert answer.tolist() == pytest.approx(text_vector(text, server.dimensions), abs=1e-6)


def test_a_key_is_sent_and_never_shown(server: OllamaServer, config: EmbeddingConfig) -> None:
    keyed = replace(config, base_url=server.url, api_key="secret-key")
    ollama = build(keyed)
    embed(ollama)
    ollama.close()
    assert server.headers_seen[0]["authorization"] == "Bearer secret-key"
    assert "secret-key" not in repr(keyed)


@pytest.mark.parametrize(
    ("fault", "retry_after"),
    [
        (Fault(429, "slow down", headers={"Retry-After": "7"}), 7.0),
        (Fault(429, "slow down"), None),
        (Fault(503, "loading", headers={"Retry-After": "soon"}), None),
        (Fault(500, "llama runner process has terminated"), None),
        (Fault(530, "tunnel"), None),
        (Fault(drop=True), None),
        (Fault(body=b"<html>a proxy</html>"), None),
        (Fault(body=b"\xff\xfe"), None),
        (Fault(body=b""), None),
    ],
)
def test_what_a_retry_can_heal(
    server: OllamaServer, ollama: OllamaEmbedder, fault: Fault, retry_after: float | None
) -> None:
    server.script.append(fault)
    with pytest.raises(EmbeddingUnavailable) as caught:
        embed(ollama)
    assert caught.value.retry_after == retry_after
    assert reasons(embed(ollama)) == [None] * 3


def test_an_urgent_call_does_not_wait_as_long(server: OllamaServer, ollama: OllamaEmbedder) -> None:
    server.script.extend([Fault(delay=0.5), Fault(delay=0.5)])
    with pytest.raises(EmbeddingUnavailable, match="in time"):
        embed(ollama, urgent=True)
    assert reasons(embed(ollama)) == [None] * 3


def test_nobody_listens(config: EmbeddingConfig) -> None:
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        ollama = build(replace(config, base_url=f"http://127.0.0.1:{taken.getsockname()[1]}"))
        with pytest.raises(EmbeddingUnavailable, match="not reachable"):
            embed(ollama)
        assert len(ollama.windows("word " * 1_000)) > 1
        ollama.close()


@pytest.mark.parametrize(
    ("fault", "setting"),
    [
        (Fault(404, 'model "x" not found, try pulling it first'), "EMBEDDING_MODEL"),
        (Fault(400, "this model does not support embeddings"), "EMBEDDING_MODEL"),
        (Fault(401, "unauthorized"), "EMBEDDING_API_KEY"),
    ],
)
def test_wrong_settings_are_named(server: OllamaServer, ollama: OllamaEmbedder, fault: Fault, setting: str) -> None:
    server.script.append(fault)
    with pytest.raises(EmbedderMisconfigured, match=setting):
        embed(ollama)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(400, TOO_LONG), Reason.TOO_LONG),
        (Fault(500, TOO_LONG), Reason.TOO_LONG),
        (Fault(413, "request body too large"), Reason.TOO_LONG),
        (Fault(500, "failed to encode response: json: unsupported value: NaN"), Reason.NOT_FINITE),
        (Fault(400, "no"), Reason.REFUSED),
        (Fault(change=lambda rows: rows[:-1]), Reason.WRONG_COUNT),
        (Fault(change=lambda rows: [*rows, rows[0]]), Reason.WRONG_COUNT),
        (Fault(change=lambda rows: None), Reason.MALFORMED_ANSWER),
        (Fault(change=lambda rows: [[None] * 8] * 3), Reason.MALFORMED_ANSWER),
        (Fault(body=b"[]"), Reason.MALFORMED_ANSWER),
    ],
)
def test_a_batch_is_refused_as_a_whole(
    server: OllamaServer, ollama: OllamaEmbedder, fault: Fault, reason: Reason
) -> None:
    server.script.append(fault)
    with pytest.raises(EmbeddingRejected) as caught:
        embed(ollama)
    assert caught.value.reason is reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row[:-1], Reason.WRONG_DIMENSIONS),
        (lambda row: row * 2, Reason.WRONG_DIMENSIONS),
        (lambda row: [0.0] * len(row), Reason.ZERO_VECTOR),
        (lambda row: [float("nan"), *row[1:]], Reason.NOT_FINITE),
        (lambda row: [float("inf"), *row[1:]], Reason.NOT_FINITE),
    ],
)
def test_a_bad_row_costs_only_its_text(
    server: OllamaServer, ollama: OllamaEmbedder, change: Any, reason: Reason
) -> None:
    server.rows["beta"] = change
    assert reasons(embed(ollama)) == [None, reason, None]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(500, "failed to encode response: json: unsupported value: NaN"),
        Fault(500, "llama runner process has terminated"),
        Fault(400, "no"),
        Fault(change=lambda rows: rows[:-1]),
        Fault(drop=True),
    ],
)
def test_one_text_that_spoils_its_batch_is_found(server: OllamaServer, ollama: OllamaEmbedder, fault: Fault) -> None:
    texts = [f"text {number}" for number in range(40)]
    server.marked["text 17"] = fault
    results = embed_texts(ollama, texts, kind=TextKind.DOCUMENT, concurrency=2, patience=PATIENCE)
    assert [number for number, result in enumerate(results) if result.error] == [17]


def test_a_text_longer_than_the_server_takes_is_cut_until_it_fits(server: OllamaServer, ollama: OllamaEmbedder) -> None:
    server.context = 40
    dense = "a b c d e f g h i j " * 24  # more tokens than its length suggests
    results = embed_texts(ollama, ["short", dense], kind=TextKind.DOCUMENT, patience=PATIENCE)
    assert [result.error for result in results] == [None, None]
    assert len(results[1].windows) == 8
    assert len(ollama.windows(dense)) == 1


def test_windows_follow_the_context_that_the_server_tells(server: OllamaServer, ollama: OllamaEmbedder) -> None:
    server.context = 100
    text = "Some words that make up a long text. " * 60
    assert all(end - start <= 300 for start, end in ollama.windows(text))


def test_a_passing_fault_is_waited_out(server: OllamaServer, ollama: OllamaEmbedder) -> None:
    server.script.extend([Fault(429, "slow down", headers={"Retry-After": "3"}), Fault(503, "loading"), None])
    naps: list[float] = []
    results = embed_texts(ollama, TEXTS, kind=TextKind.DOCUMENT, sleep=naps.append, jitter=lambda: 1.0)
    assert [result.error for result in results] == [None] * 3
    assert naps == [3.0, 1.0]
