"""The provider ``bedrock``: what it sends, as whom, and what Bedrock's answers mean."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embeddings.port import (
    EmbedderMisconfigured,
    EmbeddingConfig,
    EmbeddingError,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    TextKind,
)
from embeddings.providers.bedrock import BedrockEmbedder, build
from tests.embeddings.bedrock_server import INVALID, BedrockServer
from tests.embeddings.conftest import Remote
from tests.embeddings.model_server import Fault, text_vector

TEXTS = ["alpha", "beta", "gamma"]
COHERE = {"texts": TEXTS, "truncate": "NONE", "embedding_types": ["float"]}


@pytest.fixture
def titan(remotes: Callable[[str], Remote]) -> Remote:
    return remotes("titan_v2")


@pytest.fixture
def cohere(remotes: Callable[[str], Remote]) -> Remote:
    return remotes("cohere_v4")


def embed(remote: Remote, kind: TextKind = TextKind.DOCUMENT) -> None:
    remote.embedder.embed(TEXTS, kind=kind)


@pytest.mark.parametrize(
    ("name", "requests"),
    [
        ("titan_v1", [{"inputText": text} for text in TEXTS]),
        ("titan_v2", [{"inputText": text, "dimensions": 256, "normalize": True} for text in TEXTS]),
        ("cohere_v3", [{**COHERE, "input_type": "search_document"}]),
        ("cohere_v4", [{**COHERE, "input_type": "search_document", "output_dimension": 256}]),
    ],
)
def test_each_family_is_asked_in_its_own_shape(
    remotes: Callable[[str], Remote], name: str, requests: list[dict[str, Any]]
) -> None:
    remote = remotes(name)
    embed(remote)
    assert remote.server.requests == requests
    assert all(seen["content-type"] == "application/json" for seen in remote.server.headers_seen)


def test_a_query_is_named_as_one(cohere: Remote) -> None:
    embed(cohere, TextKind.QUERY)
    assert [request["input_type"] for request in cohere.server.requests] == ["search_query"]


def test_vectors_without_a_type_are_read_too(cohere: Remote) -> None:
    cohere.server.script.append(Fault(rewrite=lambda payload: {"embeddings": payload["embeddings"]["float"]}))
    found = cohere.embedder.embed(TEXTS, kind=TextKind.DOCUMENT)
    for text, answer in zip(TEXTS, found, strict=True):
        assert not isinstance(answer, EmbeddingRejected)
        assert answer.tolist() == pytest.approx(text_vector(text, 256), abs=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        "arn:aws:bedrock:eu-central-1::foundation-model/amazon.titan-embed-text-v2:0",
        "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.amazon.titan-embed-text-v2:0",
    ],
)
def test_an_arn_is_encoded_into_the_path(titan: Remote, model: str) -> None:
    assert isinstance(titan.server, BedrockServer)
    titan.server.model, usual = model, titan.server.model
    embedder = titan.build(model=model)
    answers = embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
    embedder.close()
    titan.server.model = usual
    assert not isinstance(answers[0], EmbeddingRejected)
    assert titan.server.models_asked[-1] == model
    assert titan.server.paths[-1].startswith("/model/arn%3Aaws%3Abedrock")


@pytest.mark.parametrize(
    ("model", "dimensions", "sentence"),
    [
        ("anthropic.claude-sonnet", 1_024, "EMBEDDING_MODEL is .*titan-embed-text-v2, cohere.embed"),
        ("arn:aws:bedrock:eu-central-1:123456789012:provisioned-model/abc", 1_024, "EMBEDDING_MODEL"),
        ("amazon.titan-embed-text-v2:0", 1_536, "EMBEDDING_DIMENSIONS is 1536; .* 256 or 512 or 1024"),
        ("amazon.titan-embed-text-v1", 1_024, "EMBEDDING_DIMENSIONS is 1024; .* 1536"),
        ("cohere.embed-english-v3", 384, "EMBEDDING_DIMENSIONS is 384; .* 1024"),
    ],
)
def test_a_model_or_dimensions_that_there_are_not(model: str, dimensions: int, sentence: str) -> None:
    with pytest.raises(EmbedderMisconfigured, match=sentence):
        build(EmbeddingConfig("bedrock", model, dimensions))


@pytest.mark.parametrize(
    ("fault", "error", "sentence"),
    [
        (Fault(429, "not ready", code="ModelNotReadyException"), EmbeddingUnavailable, "not ready"),
        (Fault(408, "slow", code="ModelTimeoutException"), EmbeddingUnavailable, "408"),
        (Fault(424, "the model failed", code="ModelErrorException"), EmbeddingUnavailable, "424"),
        (Fault(500, "oops", code="InternalServerException"), EmbeddingUnavailable, "500"),
        (Fault(400, "over quota", code="ServiceQuotaExceededException"), EmbeddingUnavailable, "quota"),
        (Fault(400, "Rate exceeded", code="ThrottlingException"), EmbeddingUnavailable, "Rate"),
        (Fault(400, body=b"<html>a proxy</html>"), EmbeddingUnavailable, "proxy"),
        (Fault(400, body=b"[]"), EmbeddingUnavailable, "is not Bedrock"),
        (Fault(400, body=b"\xff"), EmbeddingUnavailable, "is not Bedrock"),
        (Fault(body=b"[" * 200_000), EmbeddingUnavailable, "JSON"),
        (Fault(400, "The provided model identifier is invalid.", INVALID), EmbedderMisconfigured, "EMBEDDING_MODEL"),
        (
            Fault(400, "Invocation of model ID x with on-demand throughput isn't supported.", INVALID),
            EmbedderMisconfigured,
            "inference profile",
        ),
        (Fault(400, "Operation not allowed", INVALID), EmbedderMisconfigured, "EMBEDDING_MODEL"),
        (Fault(403, "The security token is expired", "ExpiredTokenException"), EmbedderMisconfigured, "credentials"),
        (Fault(404, body=b"<html>not found</html>"), EmbedderMisconfigured, "EMBEDDING_MODEL"),
    ],
)
def test_what_an_error_means(cohere: Remote, fault: Fault, error: type[EmbeddingError], sentence: str) -> None:
    cohere.server.script.append(fault)
    with pytest.raises(error, match=sentence) as caught:
        embed(cohere)
    assert not caught.value.permanent
    assert len(cohere.server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, "400 Bad Request: Too many input tokens. Max input tokens: 8192", code=INVALID),
        Fault(400, "Malformed input request: #/texts/0: expected maxLength: 2048, actual: 2500", code=INVALID),
        Fault(400, "Input is too long for requested model.", code=INVALID),
        Fault(413, body=b"<html>too large</html>"),
    ],
)
def test_what_is_said_to_more_than_the_model_takes(cohere: Remote, fault: Fault) -> None:
    cohere.server.script.append(fault)
    with pytest.raises(EmbeddingRejected) as caught:
        embed(cohere)
    assert caught.value.reason is Reason.TOO_LONG


@pytest.mark.parametrize("answer", [None, [], {}, {"embeddings": None}, {"embeddings": {"int8": [[1]]}}])
def test_an_answer_of_another_shape_is_given_to_nobody(cohere: Remote, answer: Any) -> None:
    cohere.server.script.append(Fault(rewrite=lambda payload: answer))
    with pytest.raises(EmbeddingRejected) as caught:
        embed(cohere)
    assert caught.value.reason is Reason.MALFORMED_ANSWER


def test_a_text_that_titan_refuses_costs_only_itself(titan: Remote) -> None:
    titan.server.marked["beta"] = titan.server.faults["refused"]
    first, refused, last = titan.embedder.embed(TEXTS, kind=TextKind.DOCUMENT)
    assert isinstance(refused, EmbeddingRejected)
    assert not isinstance(first, EmbeddingRejected)
    assert not isinstance(last, EmbeddingRejected)


class TestWithoutAKey:
    """The AWS chain: whatever botocore finds in this process's surroundings."""

    @pytest.fixture
    def embedder(self, titan: Remote) -> BedrockEmbedder:
        embedder = titan.build(api_key=None)
        assert isinstance(embedder, BedrockEmbedder)
        return embedder

    def test_requests_are_signed(
        self, titan: Remote, embedder: BedrockEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
        embedder.close()
        signed = titan.server.headers_seen[-1]["authorization"]
        assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        assert "/eu-central-1/bedrock/aws4_request" in signed

    def test_no_credentials_are_said_and_looked_for_again(
        self, titan: Remote, embedder: BedrockEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(EmbedderMisconfigured, match=r"EMBEDDING_API_KEY is not set, and .* no AWS credentials"):
            embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
        assert titan.server.paths == []
        self.test_requests_are_signed(titan, embedder, monkeypatch)

    def test_outdated_credentials_of_a_file_are_read_anew(
        self, titan: Remote, embedder: BedrockEmbedder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        credentials = tmp_path / "credentials"
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
        credentials.write_text("[default]\naws_access_key_id = AKIDOLD\naws_secret_access_key = secret\n")
        titan.server.script.append(Fault(403, "The security token is expired", code="ExpiredTokenException"))
        with pytest.raises(EmbedderMisconfigured):
            embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
        credentials.write_text("[default]\naws_access_key_id = AKIDNEW\naws_secret_access_key = secret\n")
        embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
        embedder.close()
        old, new = (seen["authorization"] for seen in titan.server.headers_seen)
        assert "Credential=AKIDOLD/" in old
        assert "Credential=AKIDNEW/" in new

    def test_a_token_of_the_environment_needs_tls(
        self, titan: Remote, embedder: BedrockEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "token")
        with pytest.raises(EmbedderMisconfigured, match="HTTPS"):
            embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
        embedder.close()
        assert titan.server.paths == []

    @pytest.mark.parametrize(
        ("variables", "region", "sentence"),
        [
            ({"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s"}, None, "EMBEDDING_REGION is not set"),
            ({"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s"}, "no region", "EMBEDDING_REGION"),
            ({"AWS_ACCESS_KEY_ID": "AKID"}, "eu-central-1", "AWS_SECRET_ACCESS_KEY"),
            ({"AWS_PROFILE": "nobody"}, "eu-central-1", "nobody"),
        ],
    )
    def test_what_is_missing_is_named(
        self,
        titan: Remote,
        monkeypatch: pytest.MonkeyPatch,
        variables: dict[str, str],
        region: str | None,
        sentence: str,
    ) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        embedder = titan.build(api_key=None, region=region)
        with pytest.raises(EmbedderMisconfigured, match=sentence):
            embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
