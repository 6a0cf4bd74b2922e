"""What the local models cost, side by side: texts of 100 words, questions, loading, memory.

    python -m benchmarks.embedding

The two take turns, so that a slow moment of the machine hits both alike; the processor's time for a text is what it
takes whatever else runs.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.timing import interleaved
from embeddings.port import EmbeddingRejected, TextKind
from embeddings.providers.local.embedder import LocalEmbedder
from embeddings.providers.local.models import MODELS

PROJECT = Path(__file__).resolve().parents[1]
THREADS = 2
WORDS = 100
ROUNDS = 5
QUESTION = "Somebody has fallen into the sea. What does the crew do first?"
FACTS = PROJECT / "docs/golden/facts.json"


def main() -> None:
    """Measure and print a table."""
    embedders = {name: LocalEmbedder(model, threads=THREADS) for name, model in MODELS.items()}
    texts = _texts(64)
    bulk = {name: lambda one=one: _embed_all(one, texts) for name, one in embedders.items()}
    asked = {name: lambda one=one: one.embed([QUESTION], kind=TextKind.QUERY) for name, one in embedders.items()}
    seconds = interleaved(bulk, rounds=ROUNDS, warm_up=1)
    waits = interleaved(asked, rounds=100, warm_up=5)
    print(f"{'':24} {'texts/s':>8} {'query ms':>9} {'CPU ms':>7} {'load s':>7} {'own MB':>7} {'shared MB':>10}")
    for name in MODELS:
        rate = len(texts) / statistics.median(seconds[name])
        wait = statistics.median(waits[name]) * 1_000
        cost, load, own, shared = _alone(name)
        print(f"{name:24} {rate:8.1f} {wait:9.1f} {cost:7.1f} {load:7.2f} {own:7.0f} {shared:10.0f}")


def _texts(count: int) -> list[str]:
    """Return texts of 100 words of plain English, each another one: the golden set's facts, from one on."""
    words = " ".join(fact["text"] for fact in json.loads(FACTS.read_text())).split()
    return [" ".join((words * 2)[start : start + WORDS]) for start in range(count)]


def _embed_all(embedder: LocalEmbedder, texts: Sequence[str]) -> None:
    """Embed as a worker does: several batches at a time, of which each has its windows."""
    pieces = [text[start:end] for text in texts for start, end in embedder.windows(text)]
    batches = [pieces[start : start + embedder.max_batch] for start in range(0, len(pieces), embedder.max_batch)]
    with ThreadPoolExecutor(THREADS) as pool:
        for answers in pool.map(lambda batch: embedder.embed(batch, kind=TextKind.DOCUMENT), batches):
            if any(isinstance(answer, EmbeddingRejected) for answer in answers):
                raise SystemExit("A text was refused.")


def _alone(name: str) -> list[float]:
    """Return what the model costs a process that has nothing else, as ``measure_alone`` prints it."""
    command = [sys.executable, "-m", "benchmarks.embedding", name]
    done = subprocess.run(command, cwd=PROJECT, env=os.environ, capture_output=True, text=True, check=True)  # noqa: S603
    return [float(value) for value in done.stdout.split()]


def measure_alone(name: str) -> None:
    """Print milliseconds of the processor for a text, seconds to load, and megabytes: its own, and what files share."""
    texts = _texts(64)
    begun = time.perf_counter()
    embedder = LocalEmbedder(MODELS[name], threads=1)
    embedder.embed([QUESTION], kind=TextKind.QUERY)
    load = time.perf_counter() - begun
    used = time.process_time()
    _embed_all(embedder, texts)
    cost = (time.process_time() - used) / len(texts) * 1_000
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own, shared = (int(status[key].split()[0]) / 1_024 for key in ("RssAnon", "RssFile"))
    print(cost, load, own, shared)


if __name__ == "__main__":
    measure_alone(sys.argv[1]) if len(sys.argv) > 1 else main()
