"""The provider ``bedrock``: Amazon's Titan and Cohere's Embed models through Bedrock's InvokeModel."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from embeddings.port import (
    Answer,
    EmbedderMisconfigured,
    EmbeddingConfig,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    Space,
    TextKind,
)
from embeddings.providers.answers import checked_vectors
from embeddings.providers.bedrock_models import FAMILIES, Family, family_of
from embeddings.providers.bedrock_refusals import OUTDATED_CREDENTIALS, refused, unanswered
from embeddings.providers.per_process import PerProcess
from embeddings.providers.remote import (
    LONGEST_CONNECT,
    MOST_CONNECTIONS,
    checked_key,
    checked_url,
    estimated_windows,
    on_loopback,
    parsed,
    read_body,
)
from soat.engine.windows import Span

SERVICE = "bedrock-runtime"
EXAMPLE_URL = "https://bedrock-runtime.eu-central-1.amazonaws.com"
CHUNK = 64 * 1024


def build(config: EmbeddingConfig) -> BedrockEmbedder:
    """Return the embedder; credentials are looked up when there is something to embed."""
    family = family_of(config.model)
    if family is None:
        raise EmbedderMisconfigured(
            f"EMBEDDING_MODEL is {config.model!r}; for the provider bedrock its id must hold one of: "
            f"{', '.join(FAMILIES)}."
        )
    if config.dimensions not in family.dimensions:
        raise EmbedderMisconfigured(
            f"EMBEDDING_DIMENSIONS is {config.dimensions}; the model {config.model} has "
            f"{' or '.join(str(number) for number in family.dimensions)}."
        )
    key = checked_key(config.api_key)
    url = checked_url(config.base_url, example=EXAMPLE_URL) if config.base_url else None
    return BedrockEmbedder(config, family=family, url=url, key=key)


class _Bearer:
    """Puts the key into a request. botocore logs what it calls, so the key must not show in the ``repr``."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: Any, **_: object) -> None:
        request.headers["Authorization"] = f"Bearer {self._key}"


@dataclass(frozen=True, slots=True)
class _Clients:
    patient: Any
    urgent: Any


class BedrockEmbedder:
    """Embeds through Bedrock, over connections that each process opens for itself.

    With ``EMBEDDING_API_KEY`` requests carry that key (an API key for Bedrock) and nothing else; without, botocore's
    own chain decides: ``AWS_BEARER_TOKEN_BEDROCK``, access keys, profiles, the role of the machine.
    """

    def __init__(self, config: EmbeddingConfig, *, family: Family, url: str | None, key: str | None) -> None:
        self.space = Space("bedrock", config.model, config.dimensions)
        self.max_batch = family.texts
        self._config = config
        self._family = family
        self._url = url
        self._key = key
        self._server = f"Bedrock at {url}" if url else "Bedrock"
        self._clients = PerProcess(self._connect)

    def _connect(self) -> _Clients:
        session = Session()
        try:
            if self._key is None and not _has_credentials(session):
                raise EmbedderMisconfigured(
                    "EMBEDDING_API_KEY is not set, and this process has no AWS credentials for Bedrock either."
                )
            return _Clients(
                patient=self._client(session, self._config.timeout),
                urgent=self._client(session, self._config.query_timeout),
            )
        except BotoCoreError as error:
            raise unanswered(error, server=self._server) from error
        except ValueError as error:
            raise EmbedderMisconfigured(f"EMBEDDING_BASE_URL or EMBEDDING_REGION cannot be used: {error}.") from error

    def _client(self, session: Session, seconds: float) -> Any:
        options: dict[str, Any] = {"signature_version": UNSIGNED} if self._key else {}
        if self._url and on_loopback(self._url):
            options["proxies"] = {}
        client = session.create_client(
            SERVICE,
            region_name=self._config.region,
            endpoint_url=self._url,
            config=Config(
                connect_timeout=min(seconds, LONGEST_CONNECT),
                read_timeout=seconds,
                retries={"total_max_attempts": 1, "mode": "standard"},  # whoever asks us retries
                max_pool_connections=MOST_CONNECTIONS,
                **options,
            ),
        )
        if self._key:
            # After botocore has logged the request: its own bearer signer would put the key into its debug log.
            client.meta.events.register(f"before-send.{SERVICE}", _Bearer(self._key))
        return client

    def close(self) -> None:
        """Close this process's connections; a later use opens others."""
        clients = self._clients.release()
        if clients is not None:
            clients.patient.close()
            clients.urgent.close()

    def windows(self, text: str) -> list[Span]:
        """Cut by an estimate in characters: no tokenizer is at hand here."""
        return estimated_windows(text, tokens=self._family.context)

    def embed(self, texts: Sequence[str], *, kind: TextKind, urgent: bool = False) -> list[Answer]:
        """Embed texts, as many a request as the model takes. A text that is too long is refused by the model."""
        answers: list[Answer] = []
        for start in range(0, len(texts), self.max_batch):
            part = texts[start : start + self.max_batch]
            try:
                answers += self._embed_part(part, kind=kind, urgent=urgent)
            except EmbeddingRejected as error:
                if len(part) > 1:
                    raise
                answers.append(error)
        return answers

    def _embed_part(self, texts: Sequence[str], *, kind: TextKind, urgent: bool) -> list[Answer]:
        request = self._family.request(texts, kind=kind, dimensions=self.space.dimensions)
        body = self._invoke(json.dumps(request).encode(), urgent=urgent)
        try:
            answer = parsed(body)
        except ValueError as error:
            raise EmbeddingUnavailable(f"{self._server} answered something else than JSON.") from error
        try:
            rows = self._family.rows(answer)
        except (KeyError, TypeError) as error:
            raise EmbeddingRejected(Reason.MALFORMED_ANSWER, "The model's answer holds no vectors.") from error
        return checked_vectors(rows, count=len(texts), dimensions=self.space.dimensions)

    def _invoke(self, body: bytes, *, urgent: bool) -> bytes:
        clients = self._clients.get()
        client = clients.urgent if urgent else clients.patient
        seconds = self._config.query_timeout if urgent else self._config.timeout
        deadline = time.monotonic() + seconds
        try:
            response = client.invoke_model(
                modelId=self.space.model, body=body, contentType="application/json", accept="application/json"
            )
            with closing(response["body"]) as stream:
                return read_body(stream.iter_chunks(CHUNK), deadline=deadline, server=self._server)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in OUTDATED_CREDENTIALS:
                self._clients.release()  # those in a file may be renewed from outside; the next call reads them anew
            raise refused(error, server=self._server, key=self._key) from None  # its own message may hold the key
        except BotoCoreError as error:
            raise unanswered(error, server=self._server) from error
        except (AttributeError, TypeError, ValueError, RecursionError) as error:  # botocore's, for an odd error body
            raise EmbeddingUnavailable(f"What answered at {self._server} is not Bedrock.") from error


def _has_credentials(session: Session) -> bool:
    """Tell whether botocore finds any. A client made without would keep none for as long as the process lives."""
    return session.get_auth_token(signing_name="bedrock") is not None or session.get_credentials() is not None
