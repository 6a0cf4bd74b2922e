"""The model that comes with the packages: its sense, its files, its processes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from embeddings.batching import embed_texts
from embeddings.port import EmbedderMisconfigured, EmbeddingRejected, Reason, TextKind, Vector
from embeddings.providers.local import assets
from embeddings.providers.local.embedder import WINDOW_TOKENS, LocalEmbedder

ROOT = Path(__file__).parents[2]
FILLER = "The committee met and spoke about the budget of the library and the opening hours of its reading room. "
NEEDLE = "The spare key of the lighthouse lies under the third stone left of the door. "


def vector(local: LocalEmbedder, text: str) -> Vector:
    [found] = local.embed([text], kind=TextKind.QUERY)
    assert not isinstance(found, EmbeddingRejected)
    return found


def similarity(local: LocalEmbedder, one: str, other: str) -> float:
    return float(vector(local, one) @ vector(local, other))


@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        ("How do I reset my password?", "I forgot my login and need a new one.", "Bread needs flour, water and yeast."),
        ("The cat sleeps on the sofa.", "A kitten is napping on the couch.", "Interest rates rose again in March."),
        (
            "Anna moved to Lisbon in May.",
            "Since May, Anna has lived in Lisbon.",
            "The engine lost oil on the motorway.",
        ),
    ],
)
def test_a_paraphrase_is_nearer_than_an_unrelated_text(
    local: LocalEmbedder, text: str, paraphrase: str, unrelated: str
) -> None:
    assert similarity(local, text, paraphrase) > 0.4
    assert similarity(local, text, unrelated) < 0.2


def test_the_vectors_are_those_of_the_published_model(local: LocalEmbedder) -> None:
    """The full-precision model's similarity of this pair, from its documentation, is 0.6660 (int8: within 0.01)."""
    assert similarity(local, "The weather is lovely today.", "It's so sunny outside!") == pytest.approx(0.666, abs=0.01)


def test_the_similarity_of_a_long_text_is_its_best_windows(local: LocalEmbedder) -> None:
    text = FILLER * 30 + NEEDLE + FILLER * 30
    [embedded] = embed_texts(local, [text], kind=TextKind.DOCUMENT)
    spans = local.windows(text)
    query = vector(local, "Where is the lighthouse's spare key?")
    scores = [float(query @ window) for window in embedded.windows]
    best = int(np.argmax(scores))
    assert len(spans) == len(scores) > 4
    assert NEEDLE.strip() in text[spans[best].start : spans[best].end]
    assert scores[best] > 0.25 > scores[0] + 0.1


@pytest.mark.parametrize(
    "text",
    [
        FILLER * 40,
        "a1b2-c3d4_" * 300,
        "Ünïcödé çärt " * 120,
        "각하께서 오늘 아침에 도착하셨다 " * 80,
        "x" * 5_000 + " and " + "=" * 2_000,
        "Line\n" * 400,
    ],
    ids=["prose", "no-blank", "accents", "hangul", "odd", "lines"],
)
def test_windows_hold_the_whole_text_and_the_tokenizers_limit(local: LocalEmbedder, text: str) -> None:
    model = local._model.get()
    windows = local.windows(text)
    assert windows[0].start == 0
    assert windows[-1].end == len(text)
    for one, following in pairwise(windows):
        assert one.start < following.start <= one.end < following.end
    sizes = [len(model.encode(text[start:end], framed=False).ids) for start, end in windows]
    assert max(sizes) <= WINDOW_TOKENS
    [embedded] = embed_texts(local, [text], kind=TextKind.DOCUMENT)
    assert embedded.error is None


@pytest.mark.parametrize("text", ["\x00\x01\x02", "\u200b\u200d", "数据库", "🦀 🦀"])
def test_what_the_model_cannot_read_has_no_vector(local: LocalEmbedder, text: str) -> None:
    """One unreadable text would otherwise equal every other one."""
    [refused] = local.embed([text], kind=TextKind.DOCUMENT)
    assert isinstance(refused, EmbeddingRejected)
    assert refused.reason is Reason.NO_CONTENT


def test_an_unreadable_part_of_a_long_text_does_not_cost_the_rest(local: LocalEmbedder) -> None:
    [embedded] = embed_texts(local, [FILLER * 20 + "数据库 " * 900], kind=TextKind.DOCUMENT)
    assert embedded.error is None
    assert len(embedded.windows) >= 2


def test_company_and_padding_do_not_change_a_vector(local: LocalEmbedder) -> None:
    texts = [" ".join(FILLER.split()[: 3 + number]) for number in range(13)] + [FILLER * 8]
    together = local.embed(texts, kind=TextKind.DOCUMENT)
    for text, found in zip(texts, together, strict=True):
        assert not isinstance(found, EmbeddingRejected)
        assert float(found @ vector(local, text)) > 0.999999


def test_a_model_is_loaded_once_however_many_threads_ask_first() -> None:
    embedder = LocalEmbedder(threads=2)
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: embedder._model.get(), range(8)))
        vectors = list(pool.map(lambda _: vector(embedder, NEEDLE), range(8)))
    assert len(set(map(id, models))) == 1
    assert all(np.array_equal(found, vectors[0]) for found in vectors)


def test_a_forked_child_makes_its_own_session_and_gets_the_same_vectors() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.embeddings.after_fork"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "equal", done.stderr


def test_the_runtime_reports_to_nobody(tmp_path: Path) -> None:
    """Its telemetry would keep a file in the home folder and a thread of its own."""
    code = (
        "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'\n"
        "from embeddings.providers.local.embedder import LocalEmbedder\n"
        "LocalEmbedder(threads=2).windows('text')\n"
        "print(len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else 1)"
    )
    home = {name: value for name, value in os.environ.items() if name not in ("CI", "ORT_DISABLE_TELEMETRY")}
    home |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, env=home)
    assert done.stdout.strip() == "1"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", ["weights", "tokenizer"])
def test_another_file_than_the_measured_one_is_refused(tmp_path: Path, which: str) -> None:
    genuine = assets.weights() if which == "weights" else assets.tokenizer()
    changed = tmp_path / genuine.path.name
    content = bytearray(genuine.path.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    asset = replace(genuine, path=changed)
    embedder = (
        LocalEmbedder(threads=1, weights=asset) if which == "weights" else LocalEmbedder(threads=1, tokenizer=asset)
    )
    with pytest.raises(EmbedderMisconfigured, match=f"{genuine.path.name} is not the file .* SHA-256"):
        embedder.embed(["text"], kind=TextKind.DOCUMENT)
    results = embed_texts(embedder, ["one", "two"], kind=TextKind.DOCUMENT)
    assert all(isinstance(result.error, EmbedderMisconfigured) for result in results)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    embedder = LocalEmbedder(threads=1, weights=assets.Asset(tmp_path / "model.onnx", "0"))
    with pytest.raises(EmbedderMisconfigured, match=r"model\.onnx"):
        embedder.windows("text")


def test_the_tokenizer_is_kept_with_its_licence() -> None:
    folder = assets.tokenizer().path.parent
    assert "Apache License" in (folder / "LICENSE").read_text()
    assert assets.tokenizer().sha256 in (folder / "NOTICE").read_text()
