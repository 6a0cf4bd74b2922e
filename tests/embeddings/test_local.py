"""The models that come with the packages: their sense, their files, their processes."""

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
from embeddings.providers.local.e5 import MultilingualE5
from embeddings.providers.local.embedder import LocalEmbedder
from embeddings.providers.local.minilm import MiniLM
from embeddings.providers.local.models import MINILM, MODELS, MULTILINGUAL_E5, LocalModel

ROOT = Path(__file__).parents[2]
BOTH = ("local", "multilingual")
FILLER = "The committee met and spoke about the budget of the library and the opening hours of its reading room. "
NEEDLE = "The spare key of the lighthouse lies under the third stone left of the door. "


@pytest.fixture
def either(request: pytest.FixtureRequest) -> LocalEmbedder:
    """Give the embedder that the test's parameter names."""
    embedder: LocalEmbedder = request.getfixturevalue(request.param)
    return embedder


def vector(local: LocalEmbedder, text: str, kind: TextKind = TextKind.QUERY) -> Vector:
    [found] = local.embed([text], kind=kind)
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
        FILLER * 60,
        "a1b2-c3d4_" * 300,
        "Ünïcödé çärt " * 200,
        "각하께서 오늘 아침에 도착하셨다 " * 160,
        "他今天早上从港口出发没有带钥匙。" * 120,
        "x" * 5_000 + " and " + "=" * 2_000,
        "Line\n" * 600,
    ],
    ids=["prose", "no-blank", "accents", "hangul", "han", "odd", "lines"],
)
@pytest.mark.parametrize("either", BOTH, indirect=True)
def test_windows_hold_the_whole_text_and_the_tokenizers_limit(either: LocalEmbedder, text: str) -> None:
    loaded = either._loaded.get()
    windows = either.windows(text)
    assert len(windows) > 1
    assert windows[0].start == 0
    assert windows[-1].end == len(text)
    for one, following in pairwise(windows):
        assert one.start < following.start <= one.end < following.end
    sizes = [len(loaded.encode(text[start:end]).ids) for start, end in windows]
    assert max(sizes) <= either._model.longest_text
    [embedded] = embed_texts(either, [text], kind=TextKind.DOCUMENT)
    assert embedded.error is None
    assert len(embedded.windows) == len(windows)


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


@pytest.mark.parametrize("either", BOTH, indirect=True)
def test_company_and_padding_do_not_change_a_vector(either: LocalEmbedder) -> None:
    texts = [" ".join(FILLER.split()[: 3 + number]) for number in range(13)] + [FILLER * 8]
    together = either.embed(texts, kind=TextKind.DOCUMENT)
    for text, found in zip(texts, together, strict=True):
        assert not isinstance(found, EmbeddingRejected)
        assert float(found @ vector(either, text, TextKind.DOCUMENT)) > 0.999999


def test_a_model_is_loaded_once_however_many_threads_ask_first() -> None:
    embedder = LocalEmbedder(MINILM, threads=2)
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: embedder._loaded.get(), range(8)))
        vectors = list(pool.map(lambda _: vector(embedder, NEEDLE), range(8)))
    assert len(set(map(id, models))) == 1
    assert all(np.array_equal(found, vectors[0]) for found in vectors)


@pytest.mark.parametrize("either", BOTH, indirect=True)
def test_a_forked_child_makes_its_own_session_and_gets_the_same_vectors(either: LocalEmbedder) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.embeddings.after_fork", either.space.model],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "equal", done.stderr


@pytest.mark.parametrize("either", BOTH, indirect=True)
def test_the_runtime_reports_to_nobody(either: LocalEmbedder, tmp_path: Path) -> None:
    """Its telemetry would keep a file in the home folder and a thread of its own."""
    code = (
        "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'\n"
        "from embeddings.providers.local.embedder import LocalEmbedder\n"
        "from embeddings.providers.local.models import MODELS\n"
        f"LocalEmbedder(MODELS[{either.space.model!r}], threads=2).windows('text')\n"
        "print(len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else 1)"
    )
    home = {name: value for name, value in os.environ.items() if name not in ("CI", "ORT_DISABLE_TELEMETRY")}
    home |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, env=home)
    assert done.stdout.strip() == "1"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", ["weights", "tokenizer", "multilingual"])
def test_another_file_than_the_measured_one_is_refused(tmp_path: Path, which: str) -> None:
    genuine = _assets()[which]
    changed = tmp_path / genuine.path.name
    content = bytearray(genuine.path.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    embedder = LocalEmbedder(_model_with(which, replace(genuine, path=changed)), threads=1)
    with pytest.raises(EmbedderMisconfigured, match=f"{genuine.path.name} is not the file .* SHA-256"):
        embedder.embed(["text"], kind=TextKind.DOCUMENT)
    results = embed_texts(embedder, ["one", "two"], kind=TextKind.DOCUMENT)
    assert all(isinstance(result.error, EmbedderMisconfigured) for result in results)


def _assets() -> dict[str, assets.Asset]:
    try:
        multilingual = assets.e5_weights()
    except EmbedderMisconfigured as error:
        pytest.skip(str(error))
    return {"weights": assets.minilm_weights(), "tokenizer": assets.minilm_tokenizer(), "multilingual": multilingual}


def _model_with(which: str, asset: assets.Asset) -> LocalModel:
    """Return the model that is made of an asset in the place of its own."""
    if which == "multilingual":
        return replace(MULTILINGUAL_E5, load=lambda threads: MultilingualE5(asset, threads=threads))
    files = {"weights": assets.minilm_weights(), "tokenizer": assets.minilm_tokenizer(), which: asset}
    return replace(MINILM, load=lambda threads: MiniLM(files["weights"], files["tokenizer"], threads=threads))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    embedder = LocalEmbedder(_model_with("weights", assets.Asset(tmp_path / "model.onnx", "0")), threads=1)
    with pytest.raises(EmbedderMisconfigured, match=r"model\.onnx"):
        embedder.windows("text")


def test_an_empty_file_is_not_the_measured_one(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    embedder = LocalEmbedder(_model_with("weights", assets.Asset(tmp_path / "model.onnx", "0")), threads=1)
    with pytest.raises(EmbedderMisconfigured, match=r"cannot be read"):
        embedder.windows("text")


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_whose_package_is_absent_says_which(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "find_spec", lambda name: None)
    with pytest.raises(EmbedderMisconfigured, match=f"EMBEDDING_MODEL is '{model.name}', but the package .* is not"):
        LocalEmbedder(model, threads=1).windows("text")


def test_the_tokenizer_is_kept_with_its_licence() -> None:
    folder = assets.minilm_tokenizer().path.parent
    assert "Apache License" in (folder / "LICENSE").read_text()
    assert assets.minilm_tokenizer().sha256 in (folder / "NOTICE").read_text()
