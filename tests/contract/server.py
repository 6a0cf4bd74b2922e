"""A whole stack in processes of its own, with a model server that a test can take away."""

import hashlib
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.embeddings.model_server import running
from tests.embeddings.ollama_server import OllamaServer
from tests.standalone.runs import Run

DIMENSIONS = 256


class WordsServer(OllamaServer):
    """A model whose vectors count words, so that texts with the same words are near each other."""

    def __init__(self) -> None:
        super().__init__(model="words", dimensions=DIMENSIONS, context=8_192)

    def vector(self, text: str, request: dict[str, Any]) -> list[float]:
        counts = [0.0] * self.dimensions
        for word in re.findall(r"\w+", text.lower()) or [text]:
            digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
            counts[int.from_bytes(digest[:4], "big") % self.dimensions] += 1.0
        norm = math.hypot(*counts)
        return [count / norm for count in counts]


@dataclass(frozen=True)
class Live:
    """A running stack: its address, the admin's credentials, and the model server behind it."""

    url: str
    admin: dict[str, str]
    models: OllamaServer

    def client(self) -> httpx.Client:
        """Return a client without a credential."""
        return httpx.Client(base_url=self.url, timeout=60)


@contextmanager
def live_server(folder: Path) -> Iterator[Live]:
    """Run the stack in a folder until the block ends."""
    state = folder / "var"
    with running(WordsServer()) as models:
        run = Run(
            state,
            command=[sys.executable, "manage.py", "standalone", "--state-dir", str(state), "--port", "0"],
            environment={
                "EMBEDDING_PROVIDER": "ollama",
                "EMBEDDING_MODEL": models.model,
                "EMBEDDING_DIMENSIONS": str(DIMENSIONS),
                "OLLAMA_BASE_URL": models.url,
            },
        )
        try:
            run.wait_ready(60)
            values = dict(line.split("=", 1) for line in run.state.credentials.read_text().splitlines() if "=" in line)
            admin = {"username": values["SOAT_ADMIN_USERNAME"], "password": values["SOAT_ADMIN_PASSWORD"]}
            yield Live(url=run.settings["SOAT_BASE_URL"], admin=admin, models=models)
        finally:
            assert run.stop() == 0, run.output
