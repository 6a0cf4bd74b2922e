"""The reranker behind HTTP: what it is sent, what is taken from it, and what is made of its faults."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from prometheus_client import REGISTRY

from knowledge.rerank.metrics import CountedReranker
from knowledge.rerank.port import Failure, RerankConfig, RerankError, RerankRejected, RerankUnavailable
from knowledge.rerank.punctual import PunctualReranker
from knowledge.rerank.remote import LONGEST_ANSWER, LONGEST_TEXT, RemoteReranker
from tests.embeddings.model_server import Fault, running
from tests.knowledge.rerank_server import RerankServer, dripping

KEY = "test-key-0123456789"
QUERY = "the red bicycle"
TEXTS = ["A blue car.", "The red bicycle.", "A red car."]
RELEVANCES = [0.0, 1.0, pytest.approx(1 / 3)]


@pytest.fixture(scope="module")
def started() -> Iterator[RerankServer]:
    with running(RerankServer(key=KEY)) as server:
        yield server


@pytest.fixture
def server(started: RerankServer) -> RerankServer:
    started.reset()
    return started


@pytest.fixture
def remote(server: RerankServer) -> Iterator[RemoteReranker]:
    reranker = RemoteReranker(config(server))
    yield reranker
    reranker.close()


def config(server: RerankServer, **changes: Any) -> RerankConfig:
    given = {"url": server.url, "model": server.model, "api_key": KEY, "timeout": 2.0}
    return RerankConfig(**{**given, **changes})


def test_each_text_gets_its_relevance(server: RerankServer, remote: RemoteReranker) -> None:
    assert remote.rerank(QUERY, TEXTS) == RELEVANCES
    (request,) = server.requests
    assert request == {"model": "test-reranker", "query": QUERY, "documents": TEXTS, "top_n": 3}
    assert server.headers_seen[0]["authorization"] == f"Bearer {KEY}"


def test_without_a_key_none_is_sent() -> None:
    with running(RerankServer()) as server:
        reranker = RemoteReranker(config(server, api_key=None))
        assert reranker.rerank(QUERY, TEXTS) == RELEVANCES
        assert "authorization" not in server.headers_seen[0]
        reranker.close()


def test_a_connection_is_used_again(server: RerankServer, remote: RemoteReranker) -> None:
    for _ in range(3):
        remote.rerank(QUERY, TEXTS)
    assert len(set(server.clients)) == 1


def test_long_texts_are_cut(server: RerankServer, remote: RemoteReranker) -> None:
    remote.rerank("q" * (LONGEST_TEXT + 1), ["t" * (LONGEST_TEXT + 1)])
    assert (len(server.requests[0]["query"]), len(server.requests[0]["documents"][0])) == (LONGEST_TEXT, LONGEST_TEXT)


def test_a_rounding_error_is_no_other_range(server: RerankServer, remote: RemoteReranker) -> None:
    server.judge = lambda query, text: 1.0000001 if "bicycle" in text else -0.0000001
    assert remote.rerank(QUERY, TEXTS) == [0.0, 1.0, 0.0]


def results(change: Callable[[list[dict[str, Any]]], Any]) -> Fault:
    """Return the fault of an answer whose list of results is changed."""
    return Fault(rewrite=lambda payload: {**payload, "results": change(payload["results"])})


def with_score(score: Any) -> Fault:
    return results(lambda items: [{**items[0], "relevance_score": score}, *items[1:]])


def with_index(index: Any) -> Fault:
    return results(lambda items: [*items[:-1], {**items[-1], "index": index}])


UNAVAILABLE = {
    "status 500": (Fault(500, "oops"), Failure.SERVER_ERROR),
    "status 503": (Fault(503, "loading"), Failure.SERVER_ERROR),
    "status 599": (Fault(599, "proxy"), Failure.SERVER_ERROR),
    "status 429": (Fault(429, "slow down"), Failure.BUSY),
    "hang up": (Fault(hang_up=True), Failure.UNREACHABLE),
    "half an answer": (Fault(drop=True), Failure.UNREACHABLE),
}
REJECTED = {
    "status 400": (Fault(400, "no"), Failure.REFUSED),
    "status 401": (Fault(401, "no"), Failure.REFUSED),
    "status 422": (Fault(422, "no"), Failure.REFUSED),
    "a redirect": (Fault(307, headers={"Location": "http://127.0.0.1:9/"}), Failure.REFUSED),
    "another success": (Fault(202, "later"), Failure.REFUSED),
    "no JSON": (Fault(body=b"<html>"), Failure.MALFORMED_ANSWER),
    "nothing": (Fault(body=b""), Failure.MALFORMED_ANSWER),
    "bytes": (Fault(body=b"\xff\xfe{}"), Failure.MALFORMED_ANSWER),
    "nested too deeply": (Fault(body=b"[" * 200_000), Failure.MALFORMED_ANSWER),
    "a list": (Fault(body=b"[]"), Failure.MALFORMED_ANSWER),
    "null": (Fault(body=b"null"), Failure.MALFORMED_ANSWER),
    "an error with 200": (Fault(body=b'{"error": {"message": "x"}}'), Failure.MALFORMED_ANSWER),
    "results that are none": (results(lambda items: 7), Failure.MALFORMED_ANSWER),
    "results of strings": (results(lambda items: ["a", "b", "c"]), Failure.MALFORMED_ANSWER),
    "no index": (results(lambda items: [{"relevance_score": 0.1}] * 3), Failure.MALFORMED_ANSWER),
    "no score": (results(lambda items: [{"index": 0}] * 3), Failure.MALFORMED_ANSWER),
    "too long": (Fault(body=b" " * (LONGEST_ANSWER + 1)), Failure.MALFORMED_ANSWER),
    "one missing": (results(lambda items: items[:-1]), Failure.WRONG_COUNT),
    "none at all": (results(lambda items: []), Failure.WRONG_COUNT),
    "one too many": (results(lambda items: [*items, items[0]]), Failure.WRONG_COUNT),
    "one doubled": (results(lambda items: [items[0], items[0], items[1]]), Failure.WRONG_COUNT),
    "an index beyond": (with_index(3), Failure.WRONG_COUNT),
    "a negative index": (with_index(-1), Failure.WRONG_COUNT),
    "half an index": (with_index(0.5), Failure.WRONG_COUNT),
    "a huge index": (with_index(10**400), Failure.WRONG_COUNT),
    "an index of letters": (with_index("0"), Failure.WRONG_COUNT),
    "an index of truth": (with_index(True), Failure.WRONG_COUNT),
    "an index of lists": (with_index([0]), Failure.WRONG_COUNT),
    "NaN": (with_score(float("nan")), Failure.NO_RELEVANCE),
    "infinity": (with_score(float("inf")), Failure.NO_RELEVANCE),
    "a logit": (with_score(7.74), Failure.NO_RELEVANCE),
    "below nothing": (with_score(-0.01), Failure.NO_RELEVANCE),
    "letters": (with_score("0.9"), Failure.NO_RELEVANCE),
    "null as a score": (with_score(None), Failure.NO_RELEVANCE),
    "truth as a score": (with_score(True), Failure.NO_RELEVANCE),
}


@pytest.mark.parametrize(("fault", "failure"), UNAVAILABLE.values(), ids=UNAVAILABLE)
def test_what_may_heal_is_unavailable(
    server: RerankServer, remote: RemoteReranker, fault: Fault, failure: Failure
) -> None:
    assert_fails(server, remote, fault, RerankUnavailable, failure)


@pytest.mark.parametrize(("fault", "failure"), REJECTED.values(), ids=REJECTED)
def test_what_cannot_be_used_is_rejected(
    server: RerankServer, remote: RemoteReranker, fault: Fault, failure: Failure
) -> None:
    assert_fails(server, remote, fault, RerankRejected, failure)


def assert_fails(
    server: RerankServer, remote: RemoteReranker, fault: Fault, kind: type[RerankError], failure: Failure
) -> None:
    server.script.append(fault)
    with pytest.raises(kind) as failed:
        remote.rerank(QUERY, TEXTS)
    assert failed.value.failure is failure
    assert remote.rerank(QUERY, TEXTS) == RELEVANCES


def test_nobody_who_listens_is_unreachable(server: RerankServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/rerank", "http://nobody.invalid/rerank", "http://exa mple/rerank"):
        reranker = RemoteReranker(config(server, url=url))
        with pytest.raises(RerankUnavailable) as failed:
            reranker.rerank(QUERY, TEXTS)
        assert failed.value.failure is Failure.UNREACHABLE
        reranker.close()


@pytest.mark.parametrize("fault", [Fault(delay=0.6), Fault(pause=0.1)], ids=["late", "bit by bit"])
def test_an_answer_that_is_late_is_none(server: RerankServer, fault: Fault) -> None:
    server.script.append(fault)
    reranker = RemoteReranker(config(server, timeout=0.3))
    with pytest.raises(RerankUnavailable) as failed:
        reranker.rerank(QUERY, TEXTS)
    assert failed.value.failure is Failure.TIMED_OUT
    reranker.close()


def test_errors_hold_neither_texts_nor_key(server: RerankServer) -> None:
    """Servers like to quote what they refuse."""
    secret = "a-text-that-nobody-may-read"
    assert "test-key" not in repr(config(server))
    for fault in (
        Fault(422, f"{KEY}: {secret}"),
        Fault(401, KEY),
        Fault(body=secret.encode()),
        with_score(secret),
        with_index(secret),
        Fault(hang_up=True),
    ):
        server.script.append(fault)
        reranker = RemoteReranker(config(server))
        with pytest.raises(RerankError) as failed:
            reranker.rerank(secret, [secret] * 3)
        assert secret not in str(failed.value)
        assert KEY not in str(failed.value)
        assert server.url in str(failed.value)
        reranker.close()


@pytest.mark.parametrize(
    ("status", "setting"),
    [(401, "API_KEY"), (403, "API_KEY"), (404, "URL"), (405, "URL"), (400, "MODEL"), (413, "DEPTH"), (308, "URL")],
)
def test_a_refusal_says_where_to_look(server: RerankServer, remote: RemoteReranker, status: int, setting: str) -> None:
    server.script.append(Fault(status, "no"))
    with pytest.raises(RerankRejected, match=f"answered {status}.*KNOWLEDGE_RERANK_{setting}"):
        remote.rerank(QUERY, TEXTS)


def test_nothing_is_waited_for_beyond_the_time_out() -> None:
    with dripping() as url:
        remote = RemoteReranker(RerankConfig(url=url, model="m", timeout=0.3))
        begun = time.monotonic()
        with pytest.raises(RerankUnavailable) as failed:
            PunctualReranker(remote, seconds=0.3).rerank(QUERY, TEXTS)
        assert failed.value.failure is Failure.TIMED_OUT
        assert time.monotonic() - begun < 0.3 + 0.5
    remote.close()


class Scripted:
    """A reranker that does what a test says."""

    def __init__(self, do: Callable[[], list[float]]) -> None:
        self._do = do

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return self._do()


def failing(error: Exception) -> Scripted:
    def fail() -> list[float]:
        raise error

    return Scripted(fail)


def test_what_is_in_time_is_handed_on() -> None:
    assert PunctualReranker(Scripted(lambda: [0.5]), seconds=1).rerank("q", ["t"]) == [0.5]
    with pytest.raises(RerankRejected, match="no"):
        PunctualReranker(failing(RerankRejected(Failure.REFUSED, "no")), seconds=1).rerank("q", ["t"])


def test_calls_that_hang_hold_up_no_more_than_the_time_out() -> None:
    """When every thread is taken, what waits for one is given up as well."""
    released = threading.Event()
    punctual = PunctualReranker(Scripted(lambda: [float(released.wait(20))]), seconds=0.2)

    def ask() -> None:
        with pytest.raises(RerankUnavailable):
            punctual.rerank("q", ["t"])

    callers = [threading.Thread(target=ask) for _ in range(40)]
    begun = time.monotonic()
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert time.monotonic() - begun < 5
    released.set()


def test_it_works_in_a_child_of_a_process_that_has_used_it(remote: RemoteReranker) -> None:
    """Threads stay behind in a fork, and a pool that was inherited would wait for them for ever."""
    reranker = PunctualReranker(remote, seconds=2)
    assert reranker.rerank(QUERY, TEXTS) == RELEVANCES
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os._exit(0 if reranker.rerank(QUERY, TEXTS)[1] == 1.0 else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def sample(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def counts() -> list[float]:
    results = ("ok", "timed_out", "wrong_count", "crashed")
    return [
        *(sample("soat_rerank_calls_total", result=result) for result in results),
        sample("soat_rerank_texts_total"),
        sample("soat_rerank_seconds_count"),
    ]


def test_calls_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    before = counts()
    assert CountedReranker(Scripted(lambda: [0.1, 0.2])).rerank("q", ["a", "b"]) == [0.1, 0.2]
    for error in (
        RerankUnavailable(Failure.TIMED_OUT, "late"),
        RerankRejected(Failure.WRONG_COUNT, "three"),
        ZeroDivisionError("a fault of ours"),
    ):
        with pytest.raises(type(error)):
            CountedReranker(failing(error)).rerank("q", ["a"])
    assert [now - old for now, old in zip(counts(), before, strict=True)] == [1, 1, 1, 1, 5, 4]
