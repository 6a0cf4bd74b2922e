"""What every remote provider must make of a network and a server that fail, in its own protocol."""

import logging
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from embeddings.batching import EmbeddedText, Patience, embed_texts
from embeddings.port import (
    Answer,
    EmbedderMisconfigured,
    EmbeddingError,
    EmbeddingRejected,
    EmbeddingUnavailable,
    Reason,
    TextKind,
)
from tests.embeddings.conftest import KEY, SERVERS, Remote
from tests.embeddings.model_server import Fault

ROOT = Path(__file__).parents[2]
TEXTS = ["alpha", "beta", "gamma"]
PATIENCE = Patience(attempts=2, first_wait=0.001, longest_wait=5.0, budget=10.0, halving=True)


@pytest.fixture(params=SERVERS)
def remote(request: pytest.FixtureRequest, remotes: Callable[[str], Remote]) -> Remote:
    return remotes(request.param)


def ask(remote: Remote, *, urgent: bool = False) -> list[Answer]:
    """Ask for one vector, which is one request to any of them."""
    return remote.embedder.embed(["alpha"], kind=TextKind.DOCUMENT, urgent=urgent)


def embed(remote: Remote, texts: Sequence[str] = TEXTS) -> list[EmbeddedText]:
    return embed_texts(remote.embedder, texts, kind=TextKind.DOCUMENT, patience=PATIENCE)


def reasons(embedded: Sequence[EmbeddedText]) -> list[Reason | None]:
    return [text.error.reason if isinstance(text.error, EmbeddingRejected) else None for text in embedded]


def shown(error: EmbeddingError) -> str:
    """Return what a log would have of an error: its message and those of all its causes."""
    chain: BaseException | None = error
    lines = []
    while chain is not None:
        lines.append(f"{chain!r} {chain}")
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
    return "\n".join(lines)


def assert_well(remote: Remote) -> None:
    assert [text.error for text in embed(remote)] == [None] * len(TEXTS)


def test_an_urgent_call_does_not_wait_as_long(remote: Remote) -> None:
    remote.server.script.extend([Fault(delay=0.3), Fault(delay=0.3)])
    with pytest.raises(EmbeddingUnavailable, match="in time"):
        ask(remote, urgent=True)
    assert not isinstance(ask(remote)[0], EmbeddingRejected)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7),
        ("soon", None),
        ("a date", 300),
    ],
)
def test_a_throttled_call_says_when_to_come_back(remote: Remote, header: str | None, seconds: float | None) -> None:
    if header == "a date":  # made now: the tests may have been collected long ago
        header = format_datetime(datetime.now(UTC) + timedelta(seconds=300), usegmt=True)
    headers = {"Retry-After": header} if header else {}
    remote.server.script.append(replace(remote.server.faults["throttled"], headers=headers))
    with pytest.raises(EmbeddingUnavailable, match="429") as caught:
        ask(remote)
    assert caught.value.retry_after == pytest.approx(seconds, abs=120) if seconds else caught.value.retry_after is None
    assert len(remote.server.requests) == 1


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 529])
def test_a_server_in_trouble_is_unavailable(remote: Remote, status: int) -> None:
    remote.server.script.append(replace(remote.server.faults["down"], status=status))
    with pytest.raises(EmbeddingUnavailable, match=str(status)):
        ask(remote)
    assert len(remote.server.requests) == 1
    assert_well(remote)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(drop=True),
        Fault(hang_up=True),
        Fault(body=b""),
        Fault(body=b"<html>a proxy</html>", headers={"Content-Type": "text/html"}),
        Fault(body=b"\xff\xfe"),
        Fault(502, body=b"<html>a proxy</html>"),
        Fault(503, body=b""),
    ],
    ids=["drop", "hang up", "empty", "proxy", "no UTF-8", "proxy error", "empty error"],
)
def test_a_broken_answer_is_unavailable(remote: Remote, fault: Fault) -> None:
    remote.server.script.append(fault)
    with pytest.raises(EmbeddingUnavailable):
        ask(remote)
    assert_well(remote)


def test_nobody_listens(remote: Remote) -> None:
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        embedder = remote.build(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(EmbeddingUnavailable, match="not reachable"):
            embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
        embedder.close()


@pytest.mark.parametrize(
    ("fault", "setting"),
    [("wrong key", "EMBEDDING_API_KEY"), ("forbidden", "EMBEDDING_API_KEY"), ("no model", "EMBEDDING_MODEL")],
)
def test_wrong_settings_are_named_and_no_text_is_blamed(remote: Remote, fault: str, setting: str) -> None:
    remote.server.always = remote.server.faults[fault]
    embedded = embed(remote)
    assert len(remote.server.requests) == 1
    for text in embedded:
        assert isinstance(text.error, EmbedderMisconfigured)
        assert setting in str(text.error)
        assert not text.error.permanent


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row[:-1], Reason.WRONG_DIMENSIONS),
        (lambda row: row * 2, Reason.WRONG_DIMENSIONS),
        (lambda row: [0.0] * len(row), Reason.ZERO_VECTOR),
        (lambda row: [float("nan"), *row[1:]], Reason.NOT_FINITE),
        (lambda row: [float("-inf"), *row[1:]], Reason.NOT_FINITE),
    ],
    ids=["short", "long", "zeros", "NaN", "infinite"],
)
def test_a_bad_vector_costs_only_its_text(remote: Remote, change: Any, reason: Reason) -> None:
    remote.server.rows["beta"] = change
    assert reasons(embed(remote)) == [None, reason, None]


@pytest.mark.parametrize("change", [lambda rows: rows[:-1], lambda rows: []], ids=["one less", "none"])
def test_too_few_vectors_are_given_to_nobody(remote: Remote, change: Any) -> None:
    remote.server.always = Fault(change=change)
    embedded = embed(remote)
    assert set(reasons(embedded)) <= {Reason.WRONG_COUNT, Reason.MALFORMED_ANSWER}
    assert all(text.windows == () for text in embedded)


@pytest.mark.parametrize("fault", ["refused", "down", Fault(change=lambda rows: rows[:-1]), Fault(drop=True)])
def test_one_text_that_spoils_its_batch_is_found(remote: Remote, fault: str | Fault) -> None:
    texts = [f"text {number}" for number in range(40)]
    remote.server.marked["text 17"] = remote.server.faults[fault] if isinstance(fault, str) else fault
    embedded = embed(remote, texts)
    assert [number for number, text in enumerate(embedded) if text.error] == [17]


def test_a_text_longer_than_the_model_takes_is_cut_until_it_fits(remote: Remote) -> None:
    remote.server.context = 40
    dense = "a b c d e f g h i j " * 24  # more tokens than its length suggests
    short, long = embed(remote, ["short", dense])
    assert (short.error, long.error) == (None, None)
    assert len(long.windows) == 8
    assert len(remote.embedder.windows(dense)) == 1


def test_a_passing_fault_is_waited_out(remote: Remote) -> None:
    throttled, down = remote.server.faults["throttled"], remote.server.faults["down"]
    remote.server.script.extend([replace(throttled, headers={"Retry-After": "3"}), down, None])
    naps: list[float] = []
    embedded = embed_texts(remote.embedder, TEXTS, kind=TextKind.DOCUMENT, sleep=naps.append, jitter=lambda: 1.0)
    assert [text.error for text in embedded] == [None] * 3
    assert naps == [3.0, 1.0]


def test_a_proxy_for_the_outside_world_is_not_asked_for_this_machine(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    embedder = remote.build()
    assert not isinstance(embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)[0], EmbeddingRejected)
    embedder.close()


@pytest.mark.parametrize("name", SERVERS)
def test_a_redirect_is_not_followed(remotes: Callable[[str], Remote], name: str) -> None:
    remote, elsewhere = remotes(name), remotes("openai" if name == "ollama" else "ollama")
    remote.server.script.append(Fault(307, headers={"Location": elsewhere.server.url}))
    with pytest.raises(EmbedderMisconfigured, match="Redirects are not followed: EMBEDDING_BASE_URL"):
        ask(remote)
    assert elsewhere.server.paths == []


def test_the_key_is_sent_and_never_shown(remote: Remote, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = remote.build()
    embedder.embed(TEXTS[:1], kind=TextKind.DOCUMENT)
    embedder.close()
    assert remote.server.headers_seen[-1]["authorization"] == f"Bearer {KEY}"
    for fault in [*remote.server.faults.values(), Fault(drop=True)]:
        remote.server.always = fault
        [text] = embed(remote, TEXTS[:1])
        assert text.error is not None
        assert KEY not in shown(text.error)
    assert KEY not in caplog.text
    assert KEY not in f"{remote.config!r} {remote.embedder!r}"


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_a_key_that_the_server_repeats_is_taken_out(remotes: Callable[[str], Remote], name: str, status: int) -> None:
    remote = remotes(name)
    long_before = "x" * 290  # so that the end of what is passed on falls into the key
    remote.server.always = Fault(status, f"{long_before} {KEY} is no good key", code="AccessDeniedException")
    for text in embed(remote):
        assert text.error is not None
        assert KEY[:8] not in shown(text.error)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "clé"])
@pytest.mark.parametrize("name", ["openai", "titan_v2"])
def test_what_cannot_be_a_key_is_refused_without_showing_it(
    remotes: Callable[[str], Remote], name: str, key: str
) -> None:
    with pytest.raises(EmbedderMisconfigured, match="EMBEDDING_API_KEY") as caught:
        remotes(name).build(api_key=key)
    assert key not in shown(caught.value)


@pytest.mark.parametrize("name", ["openai", "titan_v2"])
@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "http://", "http://[::1", "http://host:port", "http://u:secret@host/v1"]
)
def test_an_address_that_is_none_is_named_and_holds_no_secret(
    remotes: Callable[[str], Remote], name: str, url: str
) -> None:
    with pytest.raises(EmbedderMisconfigured, match="EMBEDDING_BASE_URL") as caught:
        remotes(name).build(base_url=url)
    assert "secret" not in shown(caught.value)


@pytest.mark.parametrize("name", ["openai", "titan_v2"])
def test_a_forked_child_opens_connections_of_its_own(remotes: Callable[[str], Remote], name: str) -> None:
    remote = remotes(name)
    config = remote.config
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "tests.embeddings.remote_after_fork"),
            *(config.provider, config.model, str(config.dimensions), str(config.base_url)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.split() == ["equal"]
    before, child, after = remote.server.clients
    assert before == after != child
