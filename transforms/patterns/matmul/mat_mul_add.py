"""Add(MatMul(A, B), b) -> Gemm(A, B, b), and Add(Gemm(A, B), b) -> Gemm(A, B, b).

For matrices A and B, and `b` a row of the product or all of it: anything that Gemm's C, which broadcasts in
one direction only, may be without making the sum larger than the product. A Gemm that has a C takes `b` as
well where both are constant: C + b. A product of integers stays: few runtimes have a Gemm of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, is_none
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.transforms.patterns.operands import other_operand, static_dim
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)

_INTEGERS: Final = frozenset(ELEMENT_TYPES[name] for name in ("int32", "int64", "uint32", "uint64"))
"""Those MatMul has."""


@dataclass(frozen=True)
class _Sum:
    """What the product and its addend are."""

    product: onnx.MatMulOp | onnx.GemmOp
    left: SSAValue
    right: SSAValue
    addend: SSAValue | np.ndarray[Any, Any]
    """A value, or the sum of two constants."""


class MatMulAddPattern(PatternOptimization):
    """The bias of a matrix product moves into a Gemm."""

    priority: ClassVar[int] = 3
    min_opset: ClassVar[int] = 7
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.MatMulOp, onnx.GemmOp)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.MatMulOp | onnx.GemmOp)
        product = op.results[0]
        add = graph.only_consumer(product)
        if not isinstance(add, onnx.AddOp):
            return no_match(op, "the product is not read by one Add alone")
        addend = other_operand(add, product)
        if addend is None:
            return no_match(op, "the product is added to itself")
        left, right = op.operands[:2]
        if graph.rank(left) != 2 or graph.rank(right) != 2:
            return no_match(op, "the factors are not matrices")
        if isinstance(op, onnx.MatMulOp) and graph.element_type(product) in _INTEGERS:
            return no_match(op, "a product of integers")
        if not _fits(graph, addend, product):
            return no_match(op, "the addend is not proven to be a row of the product, or all of it")
        if isinstance(op, onnx.MatMulOp) or is_none(op.C):
            return MatchResult((op, add), data=_Sum(op, left, right, addend))
        if float_attr(op, "beta") != 1.0:
            return no_match(op, "C is scaled, the addend is not")
        earlier, later = graph.constant(op.C), graph.constant(addend)
        if earlier is None or later is None:
            return no_match(op, "Gemm has a C already, and one of the two is not constant")
        return MatchResult((op, add), data=_Sum(op, left, right, np.asarray(earlier + later)))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: _Sum = match.data
        add = match.ops[1]
        assert add is not None
        ops: list[Operation] = []
        addend = found.addend
        if isinstance(addend, np.ndarray):
            ops.append(graph.make_constant(addend))
            addend = ops[0].results[0]
        own = found.product.properties
        gemm = graph.make(
            onnx.GemmOp,
            [found.left, found.right, addend],
            result_types=[add.results[0].type],
            name_from=found.product,
            alpha=own.get("alpha"),
            transA=own.get("transA"),
            transB=own.get("transB"),
        )
        return Replacement([*ops, gemm], {add.results[0]: gemm.results[0]})


def _fits(graph: GraphIndex, addend: SSAValue, product: SSAValue) -> bool:
    """Whether the last dim is the product's, and the one before, if any, is its rows or 1."""
    rank = graph.rank(addend)
    if rank not in (1, 2) or not graph.same_dim(addend, rank - 1, product, 1):
        return False
    return rank == 1 or static_dim(graph, addend, 0) == 1 or graph.same_dim(addend, 0, product, 0)
