"""Small steps that many rules share."""

from __future__ import annotations

from collections.abc import Sequence

from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import broadcast
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Shape
from onnxloom.transforms.dim_analysis.query import OpQuery

ONE = DimExpr.of(1)


def text(shape: Sequence[DimExpr | None]) -> str:
    """`2x?x3`, for messages."""
    return "x".join("?" if dim is None or dim.constant is None else str(dim) for dim in shape) or "scalar"


def broadcast_shapes(shapes: Sequence[Shape | None]) -> list[DimExpr] | None:
    """Multidirectional broadcasting; None when a rank is not known."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes):
        return None
    if all(shape == known[0] for shape in known[1:]):
        return list(known[0])
    rank = max(map(len, known))
    dims: list[DimExpr] = []
    for position in range(rank):
        column = [s[position - rank + len(s)] for s in known if position - rank + len(s) >= 0]
        dim = broadcast(column)
        if dim is None:
            raise Impossible(f"shapes {' and '.join(text(s) for s in known)} do not broadcast")
        dims.append(dim)
    return dims


def agree(left: DimExpr | None, right: DimExpr | None, what: str) -> DimExpr | None:
    """The dim that two places give; a number is better than a symbol."""
    if left is None or right is None:
        return right if left is None else left
    if left.constant is None:
        return left if right.constant is None else right
    if right.constant is not None and left.constant != right.constant:
        raise Impossible(f"{what}: {left} and {right} differ")
    return left


def like_first(query: OpQuery) -> Sequence[Result]:
    """One result of the shape and element type of the first operand."""
    return [Inferred(query.shape(0), query.element(0))]


def first_ranked(query: OpQuery, rank: int) -> Shape | None:
    """The shape of operand 0, which must have this rank."""
    shape = query.shape(0)
    if shape is not None and len(shape) != rank:
        raise Impossible(f"input has rank {len(shape)}; expected {rank}")
    return shape


def computed_from_dims(expr: DimExpr) -> bool:
    """Whether an integer is a number or computed from dims only, and not below 1 for sure."""
    if expr.constant is not None:
        return True
    _, high = expr.bounds()
    return (high is None or high > 0) and all(symbol.nonnegative for symbol in expr.symbols())
