"""The child process that reads a PDF: whatever becomes of it, the worker goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from documents.attempts import AttemptLost
from documents.extractors import run
from documents.extractors.registry import ExtractionFailed
from documents.extractors.run import extract_pages
from soat.engine.chunk import Page
from soat.standalone import processes
from tests.conftest import Cast
from tests.documents import invariants
from tests.documents.pdfs import pdf
from tests.documents.steps import PDF, ingested, read, reingest, run_queued, status

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = """
import json, os, signal, sys, time
def say(**message): print(json.dumps(message), flush=True)
"""
PAGE = "say(total=2); say(page=1, text='First page.')\n"
REAL = "from pathlib import Path\nfrom documents.extractors import child\n"

DEATHS = {
    "crashes": (PAGE + "os.kill(os.getpid(), signal.SIGSEGV)", "FILE_PARSE_FAILED", "-11"),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "FILE_PARSE_FAILED", "-9"),
    "raises": (PAGE + "raise SystemError", "FILE_PARSE_FAILED", "code 1"),
    "ends early": (PAGE, "FILE_PARSE_FAILED", "code 0"),
    "uses up its time": ("os.kill(os.getpid(), signal.SIGXCPU)", "FILE_LIMIT_EXCEEDED", "too long"),
    "hangs at once": ("time.sleep(600)", "FILE_LIMIT_EXCEEDED", "too long"),
    "hangs within a message": (
        PAGE + "sys.stdout.write('{\"page\": 2'); sys.stdout.flush(); time.sleep(600)",
        "FILE_LIMIT_EXCEEDED",
        "too long",
    ),
    "hangs and hears no signal": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
        "FILE_LIMIT_EXCEEDED",
        "too long",
    ),
    "closes its mouth and hangs": (PAGE + "os.close(1); time.sleep(600)", "FILE_PARSE_FAILED", "-9"),
    "babbles": (PAGE + "print('Segmentation fault'); time.sleep(600)", "FILE_PARSE_FAILED", "out of turn"),
    "says something else": (PAGE + "say(pages=1); time.sleep(600)", "FILE_PARSE_FAILED", "out of turn"),
    "says a list": ("print('[1]', flush=True); time.sleep(600)", "FILE_PARSE_FAILED", "out of turn"),
    "says no end of text": (
        "\nwhile True: sys.stdout.write('x' * 65536)",
        "FILE_LIMIT_EXCEEDED",
        "too much text",
    ),
    "finds no text": ("say(total=1); say(page=1, text=' '); say(done=True)", "FILE_PARSE_FAILED", "no text"),
    "eats memory": (
        REAL + "child.count_pages = lambda path: bytearray(3 << 30)\nchild.main(Path('x'), int(sys.argv[2]))",
        "FILE_LIMIT_EXCEEDED",
        "memory",
    ),
    "meets what the parser says": ("say(error='FILE_ENCRYPTED', detail='locked')", "FILE_ENCRYPTED", "locked"),
}


@pytest.fixture
def fake_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Let a script stand in for the reader; it writes its process id into the returned file."""
    monkeypatch.setattr(run, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(run, "LAST_WORDS_SECONDS", 2.0)
    monkeypatch.setattr(run, "MAX_MESSAGE_BYTES", 1_000_000)

    def fake(script: str) -> Path:
        pid = tmp_path / "pid"
        program = tmp_path / "child.py"
        note = f"import pathlib; pathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\n"
        program.write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{PRELUDE}{note}{script}\n")
        monkeypatch.setattr(run, "CHILD", (sys.executable, str(program)))
        return pid

    return fake


def is_alive(pid: int) -> bool:
    return processes.identity(pid) is not None


def extracted(file: Path, keep_going: Callable[[], None] = lambda: None) -> list[Page]:
    return list(extract_pages(file, PDF, keep_going=keep_going, on_total=lambda total: None))


@pytest.mark.parametrize("what", DEATHS)
def test_its_death_is_a_failure_and_no_hang(
    fake_child: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    script, code, said = DEATHS[what]
    pid = fake_child(script)
    # A busy machine may take seconds to start a child; one that hangs is waited for no longer than this.
    monkeypatch.setattr(run, "PAGE_TIMEOUT_SECONDS", 3.0 if "time.sleep" in script and said == "too long" else 60.0)
    started = time.monotonic()
    with pytest.raises(ExtractionFailed, match=said) as failure:
        extracted(tmp_path / "no.pdf")
    assert failure.value.error == code
    assert time.monotonic() - started < 30
    assert not (pid.exists() and is_alive(int(pid.read_text())))


def test_messages_in_pieces_and_large_pages(fake_child: Callable[[str], Path], tmp_path: Path) -> None:
    fake_child("""
page = {"page": 1, "text": "é" * 100_000 + "\\ud83d\\ude00\\udc00\\x00"}
whole = json.dumps(page) + "\\n" + json.dumps({"done": True})
for start in range(0, len(whole), 9_999):
    sys.stdout.write(whole[start:start + 9_999]); sys.stdout.flush()
print(flush=True)
""")
    (page,) = extracted(tmp_path / "no.pdf")
    assert page.text == "é" * 100_000 + "😀\ufffd"


def test_whoever_loses_the_attempt_stops_the_child(fake_child: Callable[[str], Path], tmp_path: Path) -> None:
    pid = fake_child(PAGE + "time.sleep(600)")

    def lost() -> None:
        if pid.exists() and pid.read_text():
            raise AttemptLost

    with pytest.raises(AttemptLost):
        extracted(tmp_path / "no.pdf", lost)
    assert not is_alive(int(pid.read_text()))


def test_a_reader_that_is_dropped_stops_the_child(fake_child: Callable[[str], Path], tmp_path: Path) -> None:
    pid = fake_child(PAGE + "time.sleep(600)")
    pages = extract_pages(tmp_path / "no.pdf", PDF, keep_going=lambda: None, on_total=lambda total: None)
    assert next(pages).text == "First page."
    pages.close()
    assert not is_alive(int(pid.read_text()))


def test_a_child_ends_with_its_worker(fake_child: Callable[[str], Path], tmp_path: Path) -> None:
    pid = fake_child(REAL + "child.count_pages = lambda path: time.sleep(600)\nchild.main(Path('x'), int(sys.argv[2]))")
    program = f"""
from pathlib import Path
from documents.extractors import run
run.CHILD = {run.CHILD!r}
list(run.extract_pages(Path("x"), "application/pdf", keep_going=lambda: None, on_total=lambda total: None))
"""
    worker = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while not (pid.exists() and pid.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert is_alive(int(pid.read_text()))
        worker.kill()
        worker.wait()
        while is_alive(int(pid.read_text())):
            assert time.monotonic() < deadline, "the child outlives its worker"
            time.sleep(0.05)
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def test_a_crash_fails_the_document_and_nothing_else(cast: Cast, fake_child: Callable[[str], Path]) -> None:
    pid = fake_child(PAGE + "os.kill(os.getpid(), signal.SIGSEGV)")
    record = ingested(cast.a, pdf(["Good text."]), "p.pdf", PDF)
    assert status(cast.a, record["id"])["error"] == "FILE_PARSE_FAILED"
    assert status(cast.a, record["id"])["total_pages"] == 2
    assert record["content"] is None
    assert not is_alive(int(pid.read_text()))
    invariants.check()
    fake_child("say(total=1); say(page=1, text='Well now.'); say(done=True)")
    reingest(cast.a, record["id"])
    run_queued()
    assert read(cast.a, record["id"])["content"] == "Well now."
    invariants.check()
