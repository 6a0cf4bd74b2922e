"""Run as a program, with a model's name: use its embedder, fork, use it in the child, and compare what both got."""

import os
import sys

import numpy as np

from embeddings.port import EmbeddingRejected, TextKind
from embeddings.providers.local.embedder import LocalEmbedder
from embeddings.providers.local.models import MODELS

TEXTS = ["The harbour was closed on Sunday.", "Boats stayed out until the morning came."]


def vectors(embedder: LocalEmbedder) -> bytes:
    """Return the vectors of the texts as bytes."""
    found = embedder.embed(TEXTS, kind=TextKind.DOCUMENT)
    return b"".join(vector.tobytes() for vector in found if not isinstance(vector, EmbeddingRejected))


def main() -> None:
    """Print ``equal`` if parent and child agree."""
    embedder = LocalEmbedder(MODELS[sys.argv[1]], threads=2)
    before = vectors(embedder)
    reader, writer = os.pipe()
    if os.fork() == 0:
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(vectors(embedder))
        sys.exit(0)  # with the interpreter's whole finalisation: inherited sessions must not hang it
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        child = pipe.read()
    _, status = os.wait()
    complete = len(np.frombuffer(before, dtype=np.float32)) == len(TEXTS) * embedder.space.dimensions
    print("equal" if complete and child == before == vectors(embedder) and status == 0 else "different")


if __name__ == "__main__":
    main()
