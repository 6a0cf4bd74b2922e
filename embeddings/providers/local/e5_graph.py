"""The network of multilingual-e5-small, a BERT, as a graph for onnxruntime."""

from __future__ import annotations

import numpy as np

from embeddings.providers.local.onnx_writer import CONTRIBUTED, Graph
from embeddings.providers.local.packed import Packed

LARGEST_WEIGHT = 63
"""Seven bits: with eight, processors without VNNI overflow where they add two products. What is lost is little: vectors
keep a cosine of .995 with those of 32-bit arithmetic, and of every third English question of XQuAD .924 find their
paragraph first, against .927 with eight bits and .917 with the four that are packed."""


def e5_graph(packed: Packed) -> bytes:
    """Return the model file: from embedded tokens (words and places, ``embedded``) to the last hidden states."""
    return _E5Graph(packed).serialized()


class _E5Graph:
    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        self._graph = Graph()

    def serialized(self) -> bytes:
        states = self._norm("embedded", "emb.ln")
        for layer in range(self._packed.sizes.layers):
            states = self._layer(states, f"l{layer}")
        shape = (1, "tokens", self._packed.sizes.width)
        return self._graph.serialized(inputs={"embedded": shape}, outputs={states: shape})

    def _layer(self, states: str, layer: str) -> str:
        asked = [self._linear(states, f"{layer}.{part}") for part in "qkv"]
        heads = self._packed.sizes.heads
        attended = self._graph.node(
            "MultiHeadAttention", asked, f"{layer}.attended", domain=CONTRIBUTED, num_heads=heads
        )
        states = self._norm(self._sum(states, self._linear(attended, f"{layer}.ao")), f"{layer}.aln")
        inner = self._graph.node(
            "Gelu", [self._linear(states, f"{layer}.fi")], f"{layer}.activated", domain=CONTRIBUTED
        )
        return self._norm(self._sum(states, self._linear(inner, f"{layer}.fo")), f"{layer}.oln")

    def _linear(self, states: str, name: str) -> str:
        """Multiply by a matrix in whole numbers; a scale for each of its outputs, one for all of the input."""
        weights = self._packed.matrix(f"{name}.w").T
        scales = np.abs(weights).max(axis=0) / LARGEST_WEIGHT
        inputs = [
            states,
            self._graph.constant(f"{name}.weights", np.rint(weights / scales).astype(np.int8)),
            self._graph.constant(f"{name}.scales", scales),
            self._graph.constant(f"{name}.zeros", np.zeros(len(scales), dtype=np.int8)),
            self._graph.constant(f"{name}.bias", self._packed.floats(f"{name}.b")),
        ]
        return self._graph.node("DynamicQuantizeMatMul", inputs, f"{name}.out", domain=CONTRIBUTED)

    def _sum(self, one: str, other: str) -> str:
        return self._graph.node("Add", [one, other], f"{other}.sum")

    def _norm(self, states: str, name: str) -> str:
        """Normalise. Not fused with the sum before it: that operator takes ten times as long as the two together."""
        inputs = [
            states,
            self._graph.constant(f"{name}.gain", self._packed.floats(f"{name}.w")),
            self._graph.constant(f"{name}.offset", self._packed.floats(f"{name}.b")),
        ]
        return self._graph.node(
            "LayerNormalization", inputs, f"{name}.out", axis=-1, epsilon=self._packed.sizes.epsilon
        )
