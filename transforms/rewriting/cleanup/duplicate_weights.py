"""Constants that hold the same bits become one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects.onnx import ConstantOp, constant_value
from onnxloom.dialects.onnx.annotations import FOLDED
from onnxloom.dialects.onnx.weights import WeightsAttr
from onnxloom.transforms.rewriting.attribute_key import attribute_key
from onnxloom.transforms.rewriting.cleanup.removal import Removal
from onnxloom.transforms.rewriting.graph_index import GraphIndex

_HARMLESS: Final = ("onnx_node_name", FOLDED)
_SAMPLES: Final = 16
"""Elements of a large constant that are looked at before all of them are compared."""


class DuplicateWeights:
    """`c, c' -> c` for constants of one block with the same type and bits: -0.0 is not 0.0.

    Large ones are compared in full only when a sample of their elements agrees.
    """

    name: ClassVar[str] = "duplicate-weights"

    def __init__(self, index: GraphIndex):
        self.index = index
        self._table: dict[Hashable, list[ConstantOp]] | None = None

    def find(self, work: Sequence[Operation]) -> Sequence[Removal]:
        if self._table is None:
            self._table = {}
            work = list(self.index.block.ops)
        found: list[Removal] = []
        for op in work:
            if not isinstance(op, ConstantOp) or self._is_special(op):
                continue
            bucket = self._table.setdefault(_key(op), [])
            bucket[:] = [other for other in bucket if other.parent is self.index.block]
            equal = next((other for other in bucket if other is not op and _same_bits(other, op)), None)
            if equal is None:
                if op not in bucket:
                    bucket.append(op)
                continue
            first, second = sorted((equal, op), key=self.index.position)
            bucket[:] = [other for other in bucket if other is not second and other is not first] + [first]
            found.append(Removal(second, {second.output: first.output}))
        return found

    def _is_special(self, op: ConstantOp) -> bool:
        """Whether somebody needs this constant and no other, such as an input's default value."""
        return self.index.is_kept(op) or any(name not in _HARMLESS for name in op.attributes)


def _key(op: ConstantOp) -> Hashable:
    value = op.value
    if not isinstance(value, WeightsAttr):
        return (op.output.type, attribute_key(value)) if value is not None else op
    flat = _bytes(op)
    step = max(1, len(flat) // _SAMPLES)
    return (op.output.type, flat[::step].tobytes())


def _same_bits(first: ConstantOp, second: ConstantOp) -> bool:
    value = first.value
    if not isinstance(value, WeightsAttr) or value == second.value:
        return True
    return np.array_equal(_bytes(first), _bytes(second))


def _bytes(op: ConstantOp) -> np.ndarray[Any, np.dtype[np.uint8]]:
    array = constant_value(op.output)
    assert array is not None, "a weight has an array"
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
