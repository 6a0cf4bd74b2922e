"""Run as a program: use a remote embedder, fork, use it in the child, use it again, and compare what they got."""

import os
import sys

from embeddings.port import EmbeddingConfig, EmbeddingRejected, TextKind
from embeddings.registry import build_embedder


def main(provider: str, model: str, dimensions: str, base_url: str) -> None:
    """Print ``equal`` if parent and child agree."""
    config = EmbeddingConfig(
        provider, model, int(dimensions), api_key="key", base_url=base_url, region="eu-central-1", timeout=5.0
    )
    embedder = build_embedder(config)

    def vector() -> bytes:
        (found,) = embedder.embed(["alpha"], kind=TextKind.DOCUMENT)
        return b"" if isinstance(found, EmbeddingRejected) else found.tobytes()

    before = vector()
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, vector())  # a few kilobytes, which a pipe holds
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        child = pipe.read()
    _, status = os.wait()
    print("equal" if before and before == child == vector() and status == 0 else "different")


if __name__ == "__main__":
    main(*sys.argv[1:])
