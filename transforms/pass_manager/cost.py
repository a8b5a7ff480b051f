"""What does a module cost, by its types alone: how many ops, how much arithmetic, how many bytes moved?

Dims that are not known count as 1, bodies of loops as one iteration, of an If the dearer branch. The
figures compare a module with what a pass made of it; they predict no time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.op import OnnxOp
from onnxloom.transforms.fusion.estimate import byte_count
from onnxloom.transforms.fusion.spaces import shape_of

_STRUCTURE: Final = (onnx.ConstantOp, onnx.NoValueOp, onnx.EntryPointOp)

_MOVES: Final = (
    onnx.ReshapeOp, onnx.TransposeOp, onnx.IdentityOp, onnx.SqueezeOp, onnx.UnsqueezeOp, onnx.FlattenOp,
    onnx.ConcatOp, onnx.SplitOp, onnx.SliceOp, onnx.GatherOp, onnx.ExpandOp, onnx.PadOp, onnx.TileOp,
    onnx.ShapeOp, onnx.SizeOp, onnx.DimOp, onnx.DepthToSpaceOp, onnx.SpaceToDepthOp, onnx.ConstantOfShapeOp,
)  # fmt: skip
"""Ops that compute nothing."""


@dataclass(frozen=True)
class Cost:
    """Sums over the ops of a module."""

    ops: int = 0
    """Ops of the standard and foreign ones, without constants; those of fused bodies count too."""

    flops: int = 0
    """Multiplications and additions of products and convolutions; of everything else, the elements of the
    results, or of the largest operand that is no constant where it has more (reductions)."""

    moved_bytes: int = 0
    """Bytes the ops read and write, constants included; a fused op reads and writes once."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.ops + other.ops, self.flops + other.flops, self.moved_bytes + other.moved_bytes)


def cost_of(module: Operation) -> Cost:
    """The cost of everything inside an op."""
    return _sum(_block(block) for region in module.regions for block in region.blocks)


def _sum(costs: Iterable[Cost]) -> Cost:
    total = Cost()
    for cost in costs:
        total += cost
    return total


def _block(block: Block) -> Cost:
    return _sum(_op(op) for op in block.ops)


def _op(op: Operation) -> Cost:
    if isinstance(op, _STRUCTURE) or op.has_trait(IsTerminator):
        return Cost()
    if not isinstance(op, OnnxOp):
        return cost_of(op)
    inside = [cost_of_region for region in op.regions for cost_of_region in map(_block, region.blocks)]
    moved = sum(byte_count(value)[0] for value in (*dict.fromkeys(op.operands), *op.results))
    if isinstance(op, onnx.FusedOp):
        body = _sum(inside)
        return Cost(body.ops, body.flops, moved)
    if isinstance(op, onnx.IfOp):
        dearer = max(inside, key=lambda cost: cost.flops, default=Cost())
        ops = 1 + sum(cost.ops for cost in inside)
        return Cost(ops, dearer.flops, dearer.moved_bytes)
    if inside:
        return _sum([Cost(1), *inside])
    return Cost(1, _flops(op), moved)


def _flops(op: Operation) -> int:
    results = sum(_size(result) for result in op.results)
    match op:
        case _ if isinstance(op, _MOVES):
            return 0
        case onnx.MatMulOp() | onnx.GemmOp():
            return 2 * results * _inner(op)
        case onnx.ConvOp():
            return 2 * results * _taps(op.W)
        case onnx.ConvTransposeOp():
            return 2 * _size(op.X) * _taps(op.W)
        case onnx.LSTMOp() | onnx.GRUOp() | onnx.RNNOp():
            steps = math.prod(_dims(op.X)[:2])
            return 2 * steps * (_size(op.W) + _size(op.R))
        case _:
            read = (_size(operand) for operand in op.operands if not _is_constant(operand))
            return max(results, max(read, default=0))


def _inner(op: onnx.MatMulOp | onnx.GemmOp) -> int:
    """The dim that is summed over."""
    dims = _dims(op.operands[0])
    if isinstance(op, onnx.GemmOp) and int_attr(op, "transA"):
        return dims[0] if dims else 1
    return dims[-1] if dims else 1


def _taps(weight: SSAValue) -> int:
    """Multiplications per element of what the window slides over or writes."""
    return math.prod(_dims(weight)[1:])


def _size(value: SSAValue) -> int:
    return math.prod(_dims(value))


def _dims(value: SSAValue) -> tuple[int, ...]:
    return tuple(max(dim, 1) if dim < 0 else dim for dim in shape_of(value) or ())


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, onnx.ConstantOp)
