"""``rerank``: what is read, in which order it comes back, and that no fault of the reranker is one of the search."""

import logging
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from prometheus_client import REGISTRY
from rest_framework.test import APIClient

from soat.tenancy.models import Project
from tests.api.answers import body_of
from tests.conftest import Cast
from tests.embeddings.model_server import Fault, running
from tests.knowledge.rerank_server import RerankServer, dripping
from tests.knowledge.world import SEARCH, contents, ids, new_document, search
from tests.memories.fakes import FailingEmbedder, FakeEmbedder, at_cosine, use_embedder
from tests.memories.rest import Record, assert_error, new_memory, write
from tests.tenancy.policies import allow, session_of, user_with

KEY = "test-key-0123456789"
COSINES = {"alpha one": 0.9, "alpha two": 0.8, "alpha three": 0.7, "alpha four": 0.6, "alpha": 1.0}
QUERY = "alpha"
RANKINGS = pytest.mark.parametrize("ranking", ["cosine", "hybrid"])


@pytest.fixture(scope="module")
def started() -> Iterator[RerankServer]:
    with running(RerankServer(key=KEY)) as server:
        yield server


@pytest.fixture
def server(started: RerankServer, settings: Any) -> RerankServer:
    """The server of the settings, which finds the texts the better, the later they stand in ``COSINES``."""
    started.reset()
    started.judge = judged({text: place / 10 for place, text in enumerate(COSINES)})
    settings.KNOWLEDGE_RERANK_URL = started.url
    settings.KNOWLEDGE_RERANK_MODEL = started.model
    settings.KNOWLEDGE_RERANK_API_KEY = KEY
    settings.KNOWLEDGE_RERANK_TIMEOUT_MS = 1_000
    return started


def judged(relevances: dict[str, float]) -> Callable[[str, str], float]:
    """Return the judge that knows these texts."""
    return lambda query, text: relevances[text.strip()]


@pytest.fixture
def shelf(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Two facts and two documents at known cosines; return the body that asks for all of them."""
    use_embedder(monkeypatch, FakeEmbedder(lambda text: at_cosine(COSINES[text.strip()])))
    memory = new_memory(cast.a)["id"]
    for text in ("alpha one", "alpha three"):
        write(cast.a, memory, text, force=True)
    for text in ("alpha two", "alpha four"):
        new_document(cast.a, text, path=f"/{text}.txt")
    return {"query": QUERY, "memory_ids": [memory]}


def reranked(client: APIClient, **body: Any) -> list[Record]:
    return search(client, rerank=True, **body)


def places(results: Sequence[Record]) -> list[int | None]:
    return [result.get("ranks", {}).get("rerank") for result in results]


@RANKINGS
def test_the_reranker_decides_on_order_and_score(cast: Cast, server: RerankServer, shelf: Record, ranking: str) -> None:
    before = {result["content"]: result for result in search(cast.a, **shelf, ranking=ranking)}
    results = reranked(cast.a, **shelf, ranking=ranking)
    assert contents(results) == ["alpha four", "alpha three", "alpha two", "alpha one"]
    assert [result["score"] for result in results] == [0.3, 0.2, 0.1, 0.0]
    assert places(results) == [1, 2, 3, 4]
    (request,) = server.requests
    assert request["query"] == QUERY
    assert request["documents"] == list(before)
    for result in results:
        was = before[result["content"]]
        assert result["similarity_score"] == was["similarity_score"] == pytest.approx(COSINES[result["content"]])
        assert {**result["ranks"], "rerank": None} == {**was.get("ranks", {}), "rerank": None}


def test_false_and_nothing_are_the_same(cast: Cast, server: RerankServer, shelf: Record) -> None:
    assert search(cast.a, **shelf, rerank=False) == search(cast.a, **shelf)
    assert server.requests == []


@RANKINGS
def test_what_is_beyond_the_limit_is_read_too(cast: Cast, server: RerankServer, shelf: Record, ranking: str) -> None:
    (first,) = reranked(cast.a, **shelf, ranking=ranking, limit=1)
    assert (first["content"], first["score"]) == ("alpha four", 0.3)
    assert len(server.requests[0]["documents"]) == 4


@RANKINGS
def test_results_beyond_the_depth_follow_in_their_old_order(
    cast: Cast, server: RerankServer, shelf: Record, settings: Any, ranking: str
) -> None:
    settings.KNOWLEDGE_RERANK_DEPTH = 2
    before = search(cast.a, **shelf, ranking=ranking)
    results = reranked(cast.a, **shelf, ranking=ranking)
    assert server.requests[0]["documents"] == contents(before)[:2]
    assert contents(results) == ["alpha two", "alpha one", "alpha three", "alpha four"]
    assert [result["score"] for result in results] == [0.1, 0.0, 0.0, 0.0]
    assert places(results) == [1, 2, None, None]


@RANKINGS
def test_each_limit_gives_a_beginning_of_the_same_list(
    cast: Cast, server: RerankServer, shelf: Record, settings: Any, ranking: str
) -> None:
    settings.KNOWLEDGE_RERANK_DEPTH = 3
    server.judge = lambda query, text: 0.5
    whole = reranked(cast.a, **shelf, ranking=ranking)
    keys = [(row["source_type"], row_id) for row, row_id in zip(whole, ids(whole), strict=True)]
    assert keys[:3] == sorted(keys[:3])
    assert all(before["score"] >= after["score"] for before, after in pairwise(whole))
    for limit in (1, 2, 3, 4):
        assert reranked(cast.a, **shelf, ranking=ranking, limit=limit) == whole[:limit]


@RANKINGS
def test_min_score_is_one_of_the_final_score(cast: Cast, server: RerankServer, shelf: Record, ranking: str) -> None:
    """Two of the results are below it before they are reranked, and the others after it."""
    server.judge = judged({"alpha one": 0.1, "alpha two": 0.2, "alpha three": 0.8, "alpha four": 0.75})
    results = reranked(cast.a, **shelf, ranking=ranking, min_score=0.75)
    assert contents(results) == ["alpha three", "alpha four"]
    assert len(server.requests[0]["documents"]) == 4
    assert contents(reranked(cast.a, **shelf, ranking=ranking, min_score=0.75, limit=1)) == ["alpha three"]


FAULTS = {
    "late": (Fault(delay=2), "timed_out"),
    "bit by bit": (Fault(pause=0.5), "timed_out"),
    "hang up": (Fault(hang_up=True), "unreachable"),
    "status 500": (Fault(500, "oops"), "server_error"),
    "status 429": (Fault(429, "slow down"), "busy"),
    "status 401": (Fault(401, "no"), "refused"),
    "nonsense": (Fault(body=b"<html>alpha one</html>"), "malformed_answer"),
    "one missing": (Fault(rewrite=lambda answer: {"results": answer["results"][1:]}), "wrong_count"),
    "NaN": (Fault(change=lambda rows: [[float("nan")], *rows[1:]]), "no_relevance"),
}


def failures(result: str) -> float:
    return REGISTRY.get_sample_value("soat_rerank_calls_total", {"result": result}) or 0.0


@pytest.mark.parametrize("case", FAULTS.values(), ids=FAULTS)
def test_a_fault_leaves_everything_as_it_was(
    cast: Cast, server: RerankServer, shelf: Record, caplog: pytest.LogCaptureFixture, case: tuple[Fault, str]
) -> None:
    fault, failure = case
    for ranking in ("cosine", "hybrid"):
        caplog.clear()
        body = {**shelf, "ranking": ranking, "limit": 3, "min_score": 0.1}
        before, counted = search(cast.a, **body), failures(failure)
        server.script.append(fault)
        begun = time.monotonic()
        assert reranked(cast.a, **body) == before
        assert time.monotonic() - begun < 1 + 0.8
        assert failures(failure) == counted + 1
        (record,) = [record for record in caplog.records if record.name == "knowledge.reranking"]
        assert record.levelno == logging.WARNING
        assert f"({failure})" in record.getMessage()
        assert not any(secret in caplog.text for secret in (KEY, *COSINES))


def test_a_server_that_is_not_there_leaves_everything_as_it_was(
    cast: Cast, server: RerankServer, shelf: Record, settings: Any
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        settings.KNOWLEDGE_RERANK_URL = f"http://127.0.0.1:{held.getsockname()[1]}/rerank"
    counted = failures("unreachable")
    assert reranked(cast.a, **shelf) == search(cast.a, **shelf)
    assert failures("unreachable") == counted + 1


def test_a_server_that_comes_to_no_end_is_left_to_itself(
    cast: Cast, server: RerankServer, shelf: Record, settings: Any
) -> None:
    settings.KNOWLEDGE_RERANK_TIMEOUT_MS = 300
    before = search(cast.a, **shelf)
    with dripping() as settings.KNOWLEDGE_RERANK_URL:
        begun = time.monotonic()
        assert reranked(cast.a, **shelf) == before
        assert time.monotonic() - begun < 0.3 + 0.8


def test_without_a_reranker_it_is_refused(cast: Cast, shelf: Record, settings: Any) -> None:
    settings.KNOWLEDGE_RERANK_URL = ""
    for body in (shelf, {"memory_ids": shelf["memory_ids"]}):
        answer = cast.a.post(SEARCH, {**body, "rerank": True}, format="json")
        assert_error(answer, 400, "VALIDATION_FAILED")
        assert answer.json()["error"]["message"].startswith("rerank ")
        assert set(answer.json()["error"]["meta"]["fields"]) == {"rerank"}
    assert len(search(cast.a, **shelf, rerank=False)) == 4


@pytest.mark.parametrize("value", [1, "true", None, []])
def test_it_is_true_or_false(cast: Cast, value: Any) -> None:
    answer = cast.a.post(SEARCH, {"query": "tea", "rerank": value}, format="json")
    assert_error(answer, 400, "VALIDATION_FAILED")
    assert answer.json()["error"]["message"].startswith("rerank ")


def test_without_a_query_there_is_nothing_to_rerank(cast: Cast, server: RerankServer, shelf: Record) -> None:
    body: Record = {"memory_ids": shelf["memory_ids"], "query": " "}
    assert reranked(cast.a, **body) == search(cast.a, **body)
    assert server.requests == []


def test_without_results_nobody_is_asked(cast: Cast, server: RerankServer, shelf: Record) -> None:
    assert reranked(cast.a, query=QUERY, document_ids=["none"]) == []
    assert server.requests == []


def test_a_query_without_a_vector_is_no_matter_of_the_reranker(
    cast: Cast, server: RerankServer, shelf: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_embedder(monkeypatch, FailingEmbedder())
    assert_error(cast.a.post(SEARCH, {**shelf, "rerank": True}, format="json"), 503, "EMBEDDING_UNAVAILABLE")
    assert server.requests == []


def test_the_reranker_is_sent_nothing_that_the_caller_may_not_read(
    cast: Cast, server: RerankServer, shelf: Record
) -> None:
    project: Project = cast.project_a
    action = "knowledge:SearchKnowledge"
    reader = session_of(user_with(allow(action, on=f"srn:{project.public_id}:document:/alpha two.txt")))
    assert contents(reranked(reader, query=QUERY, project_id=project.public_id)) == ["alpha two"]
    assert contents(reranked(cast.b, query=QUERY)) == []
    assert [request["documents"] for request in server.requests] == [["alpha two"]]


def explained(client: APIClient, **body: Any) -> Any:
    return body_of(client.post(SEARCH, {**body, "explain": True}, format="json"))["explain"]["rerank"]


def test_an_admin_is_told_how_it_went(cast: Cast, server: RerankServer, shelf: Record) -> None:
    assert explained(cast.admin, **shelf) is None
    went = explained(cast.admin, **shelf, rerank=True)
    assert went.pop("ms") > 0
    assert went == {"texts": 4, "failed": False, "failure": None}
    server.script.append(Fault(delay=2))
    failed = explained(cast.admin, **shelf, rerank=True)
    assert 900 < failed.pop("ms") < 1_800
    assert failed == {"texts": 4, "failed": True, "failure": "timed_out"}
    assert explained(cast.admin, query=QUERY, document_ids=["none"], rerank=True) is None


class Watching:
    """A reranker that looks whether the request holds a connection meanwhile."""

    def __init__(self) -> None:
        self.held: list[bool] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.held.append(connection.connection is not None)
        return [0.5] * len(texts)


def test_no_connection_is_held_meanwhile(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = new_memory(committed_cast.a)["id"]
    write(committed_cast.a, memory, "The lift is out of order.")
    watching = Watching()
    monkeypatch.setattr("knowledge.reranking.configured_reranker", lambda: watching)
    (only,) = reranked(committed_cast.a, query="the lift", memory_ids=[memory])
    assert only["score"] == 0.5
    assert watching.held == [False]
