"""Identity ops are removed: their readers read what they copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx import ConstantOp, IdentityOp
from onnxloom.transforms.rewriting.cleanup.removal import Removal
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class Identities:
    """`Identity(x) -> x`.

    One stays: that which makes an output of an input, a constant, a value from outside, or a value that
    is an output already, since each output of a graph is a value of its own.
    """

    name: ClassVar[str] = "identities"

    def __init__(self, index: GraphIndex):
        self.index = index

    def find(self, work: Sequence[Operation]) -> Sequence[Removal]:
        found: list[Removal] = []
        renamed: dict[SSAValue, SSAValue] = {}
        outputs: set[SSAValue] = set()
        for op in work:
            if not isinstance(op, IdentityOp) or self.index.is_kept(op):
                continue
            source = renamed.get(op.input, op.input)
            if self.index.is_output(op.output):
                if not self._may_be_output(source) or source in outputs:
                    continue
                outputs.add(source)
            renamed[op.output] = source
            found.append(Removal(op, {op.output: source}))
        return found

    def _may_be_output(self, value: SSAValue) -> bool:
        producer = self.index.producer(value)
        return not (producer is None or isinstance(producer, ConstantOp) or self.index.is_output(value))
