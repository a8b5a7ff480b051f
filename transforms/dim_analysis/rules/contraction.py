"""Matrix products and Einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import str_attr
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Rule, Shape
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import agree, broadcast_shapes, text


def matmul_dims(left: Shape | None, right: Shape | None) -> Sequence[DimExpr] | None:
    """numpy's `matmul`: a vector is a row on the left, a column on the right."""
    if left is None or right is None:
        return None
    if len(left) == 0 or len(right) == 0:
        raise Impossible("an input is a scalar; expected rank 1 or more")
    inner = right[-2] if len(right) > 1 else right[-1]
    agree(left[-1], inner, f"inner dims of {text(left)} and {text(right)}")
    batch = broadcast_shapes([left[:-2], right[:-2]]) or []
    rows = [left[-2]] if len(left) > 1 else []
    columns = [right[-1]] if len(right) > 1 else []
    return [*batch, *rows, *columns]


def matmul_rule(left: int, right: int, element_of: int | Attribute) -> Rule:
    """A product of the operands at two positions; the element type is given or an operand's."""

    def rule(query: OpQuery) -> Sequence[Result]:
        element = query.element(element_of) if isinstance(element_of, int) else element_of
        return [Inferred(matmul_dims(query.shape(left), query.shape(right)), element)]

    return rule


def _gemm(query: OpQuery) -> Sequence[Result]:
    left, right = query.shape(0), query.shape(1)
    for shape in (left, right):
        if shape is not None and len(shape) != 2:
            raise Impossible(f"an input has rank {len(shape)}; expected 2")
    if left is not None and query.int_attr("transA"):
        left = left[::-1]
    if right is not None and query.int_attr("transB"):
        right = right[::-1]
    if left is not None and right is not None:
        agree(left[1], right[0], f"inner dims of {text(left)} and {text(right)}")
    return [Inferred([left[0] if left else None, right[1] if right else None], query.element(0))]


def _einsum(query: OpQuery) -> Sequence[Result]:
    equation = str_attr(query.op, "equation").replace(" ", "")
    shapes = [query.shape(i) for i in range(len(query))]
    known = [shape for shape in shapes if shape is not None]
    terms, arrow, output = equation.partition("->")
    inputs = terms.split(",")
    if "..." in equation or len(known) != len(shapes):
        return [None]
    if len(inputs) != len(shapes):
        raise Impossible(f"equation {equation!r} has {len(inputs)} terms for {len(shapes)} inputs")
    dims: dict[str, DimExpr | None] = {}
    for letters, shape in zip(inputs, known, strict=True):
        if len(letters) != len(shape):
            raise Impossible(f"term {letters!r} for an input of rank {len(shape)}")
        for letter, dim in zip(letters, shape, strict=True):
            before = dims.get(letter)
            if before is None or before.is_one():
                dims[letter] = dim
            elif not dim.is_one():
                dims[letter] = agree(before, dim, f"dim {letter!r} of equation {equation!r}")
    if not arrow:
        output = "".join(sorted(letter for letter in dims if terms.count(letter) == 1))
    return [Inferred([dims.get(letter) for letter in output], query.element(0))]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.MatMulOp: matmul_rule(0, 1, 0),
    onnx.MatMulIntegerOp: matmul_rule(0, 1, i32),
    onnx.QLinearMatMulOp: matmul_rule(0, 3, 7),
    onnx.GemmOp: _gemm,
    onnx.EinsumOp: _einsum,
}
