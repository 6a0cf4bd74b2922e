"""Vectors as SQL text."""

from embeddings.port import Vector


def vector_literal(vector: Vector) -> str:
    """Return ``[…]`` for a ``::vector`` cast; nine digits keep every bit of a 32-bit float."""
    return "[" + ",".join(f"{value:.9g}" for value in vector.tolist()) + "]"
