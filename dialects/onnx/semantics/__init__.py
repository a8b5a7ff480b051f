"""Which ops are elementwise, and what does one scalar of each compute?

The table is the union of the `OPS` of this folder's modules, one per family. Fusion reads from it
what may be fused, every lowering reads from it how to compute it.
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation

from onnxloom.dialects.onnx.semantics import (
    activation,
    arithmetic,
    comparison,
    conversion,
    elementary,
    logical,
    normalization,
    quantization,
)
from onnxloom.dialects.onnx.semantics.scalars import Scalars
from onnxloom.dialects.onnx.semantics.semantics import ScalarSemantics, Table, covered, element_type

_FAMILIES = (activation, arithmetic, comparison, conversion, elementary, logical, normalization, quantization)


@cache
def semantics_table() -> Table:
    """Op class -> its semantics, for every elementwise op of the standard."""
    return {op: row for family in _FAMILIES for op, row in family.OPS.items()}


def is_elementwise(op: Operation) -> bool:
    """Whether the op maps broadcast scalars to scalars, kernel or not."""
    return type(op) in semantics_table()


def scalar_semantics(op: Operation) -> ScalarSemantics | None:
    """How `op` computes one scalar; None when it is not elementwise or its form has no kernel."""
    row = semantics_table().get(type(op))
    return row if row is not None and covered(op, row) else None


__all__ = [
    "ScalarSemantics",
    "Scalars",
    "element_type",
    "is_elementwise",
    "scalar_semantics",
    "semantics_table",
]
