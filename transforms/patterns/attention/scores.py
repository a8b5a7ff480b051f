"""What scales and hides the scores that a softmax is taken of?

`softmax(scale * (q @ transpose(k)) + mask)`, where the scale stands on q, on k, on both or on the product, as
a multiplication or a division.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.operands import other_operand, scalar_beside
from onnxloom.transforms.rewriting.graph_index import GraphIndex


@dataclass(frozen=True)
class Scores:
    """The parts of attention scores, each with batch, head, row and column axes."""

    ops: tuple[Operation, ...]
    """What computes them, all of it private."""

    reads: tuple[Operation, ...]
    """Producers of the factors, which others may read too."""

    queries: SSAValue
    keys: SSAValue
    perm: tuple[int, ...] | None
    """How `keys` are brought to `[batch, head, row, column]`; None: they are."""

    scale: float
    mask: SSAValue | None
    """Added to the scores, or, of truth values, where they count."""


def match_scores(graph: GraphIndex, value: SSAValue, reader: Operation) -> Scores | Miss:
    """The parts of `value`, which `reader` alone reads."""
    ops: list[Operation] = []
    value, mask = _without_mask(graph, value, ops)
    if isinstance(mask, Miss):
        return mask
    value, scale = _without_scale(graph, value, ops)
    product = graph.producer_of(value, onnx.MatMulOp)
    if product is None:
        return no_match(reader, "the scores are no matrix product")
    ops.append(product)
    if not all(graph.is_private(op.results[0]) for op in ops):
        return no_match(reader, "something else reads the scores")
    reads: list[Operation] = []
    queries, left = _without_scale(graph, product.A, reads)
    keys, right = _without_scale(graph, product.B, reads)
    transpose = graph.producer_of(keys, onnx.TransposeOp)
    if transpose is None:
        return no_match(reader, "the keys are not transposed")
    reads.append(transpose)
    keys, inner = _without_scale(graph, transpose.data, reads)
    perm = ints_attr(transpose, "perm")
    if perm not in ((0, 1, 3, 2), (0, 2, 3, 1)):
        return no_match(reader, "the keys are transposed in another way")
    found = Scores(
        tuple(ops),
        tuple(reads),
        queries,
        keys,
        None if perm == (0, 1, 3, 2) else (0, 2, 1, 3),
        scale * left * right * inner,
        None,
    )
    if mask is None:
        return found
    problem = _mask_problem(graph, mask, product.Y)
    return replace(found, mask=mask) if problem is None else no_match(reader, problem)


def _without_mask(
    graph: GraphIndex, value: SSAValue, ops: list[Operation]
) -> tuple[SSAValue, SSAValue | None | Miss]:
    """What a mask was applied to, and the mask."""
    op = graph.producer_of(value, onnx.AddOp, onnx.WhereOp)
    if isinstance(op, onnx.AddOp):
        for side in op.operands:
            if _is_product(graph, side) and (other := other_operand(op, side)) is not None:
                ops.append(op)
                return side, other
    if isinstance(op, onnx.WhereOp) and _is_product(graph, op.X):
        hidden = scalar_beside(graph, op.Y, op.X)
        if hidden != float("-inf"):
            # A finite number in a row that is hidden altogether weighs all keys alike, the op none.
            return value, no_match(op, "what is hidden has another score than -inf")
        ops.append(op)
        return op.X, op.condition
    return value, None


def _is_product(graph: GraphIndex, value: SSAValue) -> bool:
    """Whether a matrix product stands behind a value, scaled or not."""
    return graph.producer_of(_without_scale(graph, value, [])[0], onnx.MatMulOp) is not None


def _without_scale(graph: GraphIndex, value: SSAValue, ops: list[Operation]) -> tuple[SSAValue, float]:
    """What a value is a multiple of, and the factor."""
    scale = 1.0
    while (op := graph.producer_of(value, onnx.MulOp, onnx.DivOp)) is not None:
        sides = [(op.A, op.B)] if isinstance(op, onnx.DivOp) else [(op.A, op.B), (op.B, op.A)]
        found = [(data, c) for data, side in sides if (c := scalar_beside(graph, side, data)) is not None]
        if not found or (isinstance(op, onnx.DivOp) and not found[0][1]):
            return value, scale
        value, factor = found[0]
        scale = scale / factor if isinstance(op, onnx.DivOp) else scale * factor
        ops.append(op)
    return value, scale


def _mask_problem(graph: GraphIndex, mask: SSAValue, scores: SSAValue) -> str | None:
    """Why a mask does not do for the op, which broadcasts it to the scores and pads its last axis."""
    shape, whole = graph.shape(mask), graph.shape(scores)
    if shape is None or whole is None or not 2 <= len(shape) <= len(whole):
        return "the mask has no rank from 2 to that of the scores"
    if graph.element_type(mask) not in (i1, graph.element_type(scores)):
        return "the mask has another element type than the scores"
    if shape[-1] != whole[-1]:
        return "the mask may have fewer keys than the scores"
    own = zip(shape, whole[-len(shape) :], strict=True)
    if any(dim.constant != 1 and dim != other for dim, other in own):
        return "the mask may have more dims than the scores"
    return None
