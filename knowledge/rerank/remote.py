"""The reranker behind the common protocol: ``POST {model, query, documents}``, answered with scores by index."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import httpx

from embeddings.providers.per_process import PerProcess
from embeddings.providers.remote import (
    LONGEST_CONNECT,
    MOST_CONNECTIONS,
    PASSING,
    on_loopback,
    parsed,
)
from knowledge.rerank.port import Failure, RerankConfig, RerankError, RerankRejected, RerankUnavailable
from soat.engine.vectors import clamp_score

LONGEST_TEXT = 8_000
"""Characters of a text, or of the question, that are sent. Rerankers read 512 tokens or some thousand; without a
bound one search could send two hundred texts of megabytes each."""

LONGEST_ANSWER = 16 * 2**20
"""Bytes; some servers send the texts back."""

ROUNDING = 1e-6
"""What a relevance may lie outside of 0..1: single precision is not exact."""

CHECK_KEY = "Check KNOWLEDGE_RERANK_API_KEY and what it may use."
CHECK_ADDRESS = "KNOWLEDGE_RERANK_URL must be the whole address, as in http://localhost:8000/v1/rerank."
CHECK_MODEL = "Check KNOWLEDGE_RERANK_MODEL, and that the server cuts texts that are too long for it."
NO_REDIRECTS = "Redirects are not followed: KNOWLEDGE_RERANK_URL must be the server's own address."
ADVICE: Mapping[int, str] = {
    HTTPStatus.BAD_REQUEST: CHECK_MODEL,
    HTTPStatus.UNAUTHORIZED: CHECK_KEY,
    HTTPStatus.FORBIDDEN: CHECK_KEY,
    HTTPStatus.NOT_FOUND: f"{CHECK_ADDRESS} {CHECK_MODEL}",
    HTTPStatus.METHOD_NOT_ALLOWED: CHECK_ADDRESS,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Lower KNOWLEDGE_RERANK_DEPTH.",
    HTTPStatus.UNPROCESSABLE_ENTITY: CHECK_MODEL,
}


class RemoteReranker:
    """Asks a server, over connections that each process opens for itself.

    Nothing of an answer but its status stands in errors: servers quote the texts that they refuse.
    """

    def __init__(self, config: RerankConfig) -> None:
        self._config = config
        self._server = f"The rerank server at {config.url}"
        self._client = PerProcess(self._connect)

    def _connect(self) -> httpx.Client:
        key, seconds = self._config.api_key, self._config.timeout
        return httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else None,
            limits=httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS // 2),
            timeout=httpx.Timeout(seconds, connect=min(seconds, LONGEST_CONNECT)),
            follow_redirects=False,  # the key and the texts go to the address of the settings, nowhere else
            trust_env=not on_loopback(self._config.url),
        )

    def close(self) -> None:
        """Close this process's connections; a later use opens others."""
        client = self._client.release()
        if client is not None:
            client.close()

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the relevances that the server gives; a single one that is none spoils the answer."""
        status, body = self._post(
            {
                "model": self._config.model,
                "query": query[:LONGEST_TEXT],
                "documents": [text[:LONGEST_TEXT] for text in texts],
                "top_n": len(texts),
            }
        )
        if status != HTTPStatus.OK:
            raise self._refusal(status)
        try:
            return _relevances(parsed(body), count=len(texts))
        except _Unusable as error:
            raise RerankRejected(error.failure, f"{self._server} {error}") from None
        except ValueError:
            raise RerankRejected(
                Failure.MALFORMED_ANSWER, f"{self._server} answered something else than JSON."
            ) from None

    def _post(self, request: dict[str, Any]) -> tuple[int, bytes]:
        deadline = time.monotonic() + self._config.timeout
        try:
            with self._client.get().stream("POST", self._config.url, json=request) as response:
                return response.status_code, self._read(response.iter_bytes(), deadline)
        except httpx.TimeoutException:
            raise self._too_late() from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # The kind is enough to go by, and the words of some kinds quote what was sent or received.
            kind = type(error).__name__
            raise RerankUnavailable(Failure.UNREACHABLE, f"{self._server} is not reachable ({kind}).") from None

    def _read(self, chunks: Iterable[bytes], deadline: float) -> bytes:
        """Join an answer's chunks; a socket's own timeout starts anew with each of them."""
        body = bytearray()
        for chunk in chunks:
            body += chunk
            if len(body) > LONGEST_ANSWER:
                raise RerankRejected(
                    Failure.MALFORMED_ANSWER, f"{self._server} sends more than {LONGEST_ANSWER} bytes."
                )
            if time.monotonic() > deadline:
                raise self._too_late()
        return bytes(body)

    def _too_late(self) -> RerankUnavailable:
        return RerankUnavailable(Failure.TIMED_OUT, f"{self._server} did not answer in time.")

    def _refusal(self, status: int) -> RerankError:
        sentence = f"{self._server} answered {status}."
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return RerankUnavailable(Failure.SERVER_ERROR, sentence)
        if status in PASSING:
            return RerankUnavailable(Failure.BUSY, sentence)
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return RerankRejected(Failure.REFUSED, f"{sentence} {NO_REDIRECTS}")
        return RerankRejected(Failure.REFUSED, f"{sentence} {ADVICE.get(status, '')}".rstrip())


class _Unusable(ValueError):
    def __init__(self, failure: Failure, predicate: str) -> None:
        super().__init__(predicate)
        self.failure = failure


def _relevances(payload: Any, *, count: int) -> list[float]:
    """Return the relevances in the order of the texts. Raises ``_Unusable`` unless each text has one."""
    try:
        items = [(item["index"], item["relevance_score"]) for item in payload["results"]]
    except (KeyError, TypeError):
        raise _Unusable(Failure.MALFORMED_ANSWER, "answered no list of results.") from None
    by_index = {index: score for index, score in items if isinstance(index, float)}
    if len(items) != count or by_index.keys() != set(range(count)):
        raise _Unusable(Failure.WRONG_COUNT, f"answered indexes that do not match the {count} texts.")
    return [_relevance(by_index[index]) for index in range(count)]


def _relevance(score: Any) -> float:
    """Return a relevance. Scores of another range are refused: nobody can tell what they mean for ``min_score``."""
    if not isinstance(score, float) or not -ROUNDING <= score <= 1 + ROUNDING:
        raise _Unusable(Failure.NO_RELEVANCE, "answered a relevance that is no number from 0 to 1.")
    return clamp_score(score)
