"""What may a rule ask about the op it is applied to?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import (
    Element,
    Elements,
    Impossible,
    Shape,
    TensorFacts,
    element_type,
)


class FactSource(Protocol):
    """Where a query finds what is known of values."""

    def facts(self, value: SSAValue) -> TensorFacts | None: ...

    def elements(self, value: SSAValue) -> Elements | None: ...

    def type_of(self, value: SSAValue) -> Attribute: ...


class OpQuery:
    """One op; operands by position, left-out ones and those beyond the last count as absent."""

    __slots__ = ("op", "result_shapes", "source")

    def __init__(self, op: Operation, source: FactSource):
        self.op = op
        self.source = source
        self.result_shapes: Sequence[tuple[int, ...]] = ()
        """Shapes of the results, for rules of elements only."""

    def __len__(self) -> int:
        return len(self.op.operands)

    def has(self, index: int) -> bool:
        operands = self.op.operands
        return index < len(operands) and not isinstance(operands[index].type, NoneType)

    def value(self, index: int) -> SSAValue:
        return self.op.operands[index]

    def facts(self, index: int) -> TensorFacts | None:
        operands = self.op.operands
        return self.source.facts(operands[index]) if index < len(operands) else None

    def shape(self, index: int) -> Shape | None:
        facts = self.facts(index)
        return None if facts is None else facts.shape

    def rank(self, index: int) -> int | None:
        shape = self.shape(index)
        return None if shape is None else len(shape)

    def element(self, index: int) -> Attribute | None:
        """Element type of an operand."""
        operands = self.op.operands
        return element_type(operands[index].type) if index < len(operands) else None

    def elements(self, index: int) -> Elements | None:
        """What is known of the elements of a small operand."""
        return self.source.elements(self.op.operands[index]) if self.has(index) else None

    def flat(self, index: int) -> list[Element] | None:
        """The elements in row-major order."""
        elements = self.elements(index)
        return None if elements is None else elements.reshape(-1).tolist()

    def dims(self, index: int) -> list[DimExpr] | None:
        """The elements of an integer operand in row-major order."""
        flat = self.flat(index)
        if flat is None:
            return None
        found = [e for e in flat if isinstance(e, DimExpr)]
        return found if len(found) == len(flat) else None

    def ints(self, index: int) -> list[int] | None:
        """The elements of an integer operand when all are numbers."""
        dims = self.dims(index)
        if dims is None:
            return None
        found = [d.constant for d in dims if d.constant is not None]
        return found if len(found) == len(dims) else None

    def int_attr(self, name: str, default: int | None = None) -> int:
        return int_attr(self.op, name, default)

    def ints_attr(self, name: str) -> tuple[int, ...] | None:
        return ints_attr(self.op, name)

    def axis(self, axis: int, rank: int, what: str = "axis") -> int:
        """A negative axis counted from the end."""
        if not -rank <= axis < rank:
            raise Impossible(f"{what} {axis} is outside of a tensor of rank {rank}")
        return axis + rank if axis < 0 else axis

    def axes(self, axes: Sequence[int], rank: int) -> list[int]:
        found = [self.axis(axis, rank) for axis in axes]
        if len(set(found)) != len(found):
            raise Impossible(f"an axis is named twice in {list(axes)}")
        return found
