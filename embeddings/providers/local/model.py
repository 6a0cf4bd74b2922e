"""The ONNX model and its tokenizer. Importing this loads onnxruntime: only the process that embeds does."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Since 1.29 onnxruntime reports to its maker as soon as it is imported: it names the machine and the model, keeps a
# file in the home folder, and runs a thread that aborts a forked child at its exit. Nothing of SOAT's leaves its host.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException
from tokenizers import Encoding, Tokenizer

from embeddings.port import EmbeddingUnavailable
from embeddings.providers.local.assets import Asset


class OnnxModel:
    """A loaded sentence model with mean pooling.

    Each run works on one thread and at most ``threads`` runs go on at once. Measured on two cores this is faster
    than one run on two threads (104 against 95 texts of 100 words a second), and it leaves no thread pool behind.
    """

    def __init__(self, weights: Asset, tokenizer: Asset, *, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # The wider fusions made this model 12 % slower, not faster.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(
            weights.read(), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_str(tokenizer.read().decode())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._slots = threading.BoundedSemaphore(threads)
        self.unknown_token: int | None = self._tokenizer.token_to_id("[UNK]")

    def encode(self, text: str, *, framed: bool) -> Encoding:
        """Tokenise a text, however long; ``framed`` adds the two special tokens that the model wants."""
        return self._tokenizer.encode(text, add_special_tokens=framed)

    def vectors(self, token_ids: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        """Return the mean of the last hidden states over each text's tokens, shape ``(texts, dimensions)``."""
        longest = max(len(ids) for ids in token_ids)
        padded = np.zeros((len(token_ids), longest), dtype=np.int64)
        mask = np.zeros_like(padded)
        for row, ids in enumerate(token_ids):
            padded[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        inputs = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}
        states = self._run(inputs)
        weight = mask[:, :, np.newaxis].astype(np.float32)
        means: npt.NDArray[np.float32] = (states * weight).sum(axis=1) / weight.sum(axis=1)
        return means

    def _run(self, inputs: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
        try:
            with self._slots:
                states: npt.NDArray[np.float32] = self._session.run(None, inputs)[0]
        except (Fail, RuntimeException, MemoryError) as error:  # such as no memory just now
            raise EmbeddingUnavailable(f"The local embedding model failed: {error}") from error
        return states
