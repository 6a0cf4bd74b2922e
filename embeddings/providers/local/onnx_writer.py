"""Just enough of the ONNX file format (protocol buffers) to hand onnxruntime a graph that is put together here.

The field numbers are those of ``onnx.proto``; the package ``onnx`` would be 20 MB for these few lines.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

IR_VERSION = 8
OPSET = 17
CONTRIBUTED = "com.microsoft"
"""The domain of onnxruntime's own operators."""

_VARINT, _BYTES, _FLOAT32 = 0, 2, 5
_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int8): 3}
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT = 1, 2


class Graph:
    """A graph under construction; values are known by their names."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add a constant tensor and return its name."""
        dims = b"".join(_number(1, size) for size in values.shape)
        kind = _number(2, _TYPES[values.dtype])
        self._constants.append(dims + kind + _text(8, name) + _bytes(9, values.tobytes()))
        return name

    def node(
        self, operator: str, inputs: Sequence[str], output: str, *, domain: str = "", **attributes: float | int
    ) -> str:
        """Add an operation and return the name of its output."""
        parts = [*(_text(1, name) for name in inputs), _text(2, output), _text(4, operator)]
        parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join([*parts, _text(7, domain)]))
        return output

    def serialized(self, *, inputs: dict[str, Sequence[int | str]], outputs: dict[str, Sequence[int | str]]) -> bytes:
        """Return the model file. Inputs and outputs are float32; a size that is a name is free."""
        parts = [_bytes(1, node) for node in self._nodes]
        parts.append(_text(2, "graph"))
        parts += [_bytes(5, constant) for constant in self._constants]
        parts += [_bytes(11, _value(name, shape)) for name, shape in inputs.items()]
        parts += [_bytes(12, _value(name, shape)) for name, shape in outputs.items()]
        operators = _bytes(8, _text(1, "") + _number(2, OPSET)) + _bytes(8, _text(1, CONTRIBUTED) + _number(2, 1))
        return _number(1, IR_VERSION) + _bytes(7, b"".join(parts)) + operators


def _attribute(name: str, value: float | int) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _key(2, _FLOAT32) + struct.pack("<f", value) + _number(20, _ATTRIBUTE_FLOAT)
    return _text(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT)


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = [_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape]
    dims = b"".join(_bytes(1, size) for size in sizes)
    tensor = _number(1, _TYPES[np.dtype(np.float32)]) + _bytes(2, dims)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(value)) + value


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    """Return seven bits a byte, the lowest first; the top bit says that more follow."""
    digits = bytearray()
    while (rest := value >> 7) > 0:
        digits.append(value & 0x7F | 0x80)
        value = rest
    digits.append(value)
    return bytes(digits)
