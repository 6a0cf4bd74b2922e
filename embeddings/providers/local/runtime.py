"""onnxruntime as the local models use it. Importing this loads it: only the process that embeds does."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

# Since 1.29 onnxruntime reports to its maker as soon as it is imported: it names the machine and the model, keeps a
# file in the home folder, and runs a thread that aborts a forked child at its exit. Nothing of SOAT's leaves its host.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException

from embeddings.port import EmbeddingUnavailable


class Runtime:
    """A model that runs on one thread, at most ``threads`` times at once.

    Measured on two cores this is faster than one run on two threads (104 against 95 texts of 100 words a second), and
    it leaves no thread pool behind.
    """

    def __init__(self, model: bytes, *, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # The wider fusions made all-MiniLM-L6-v2 12 % slower, not faster.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
        self._slots = threading.BoundedSemaphore(threads)

    def states(self, inputs: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
        """Return the last hidden states, shape ``(texts, tokens, dimensions)``."""
        try:
            with self._slots:
                states: npt.NDArray[np.float32] = self._session.run(None, dict(inputs))[0]
        except (Fail, RuntimeException, MemoryError) as error:  # such as no memory just now
            raise EmbeddingUnavailable(f"The local embedding model failed: {error}") from error
        return states
