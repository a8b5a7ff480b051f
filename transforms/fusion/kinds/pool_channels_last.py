"""`onnx.pool_channels_last`: MaxPool or AveragePool of tensors whose last axis is the channels.

    Transpose(NHWC to NCHW) ──► MaxPool ──► Transpose(NCHW to NHWC)

One kernel reads and writes channels last; nothing is transposed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Final, Self

from xdsl.dialects.builtin import DYNAMIC_INDEX, bf16, f16, f32, f64
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.dialects.onnx.semantics.scalars import as_integer
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.epilogue import only_reader
from onnxloom.transforms.fusion.estimate import estimate
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.spaces import element_of, shape_of

FLOATS: Final = (bf16, f16, f32, f64)

MAX_TAPS: Final = 512
"""Taps of the largest window: those along the last dim are operations of the kernel."""


class PoolChannelsLastFusion(FusionOpKindHelper):
    """A pool between the two Transposes that make it one of channels last."""

    kind: ClassVar[str] = "onnx.pool_channels_last"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.MaxPoolOp, onnx.AveragePoolOp)
    max_op_count: ClassVar[int] = 3

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        before, after = anchor.operands[0].owner, only_reader(anchor.results[0])
        if not isinstance(before, onnx.TransposeOp):
            return Miss("the input of the pool is no Transpose from channels last")
        if after is None:
            return Miss("the result of the pool is not read by one op alone")
        if only_reader(before.transposed) is not anchor:
            return Miss("the transposed input of the pool is read elsewhere")
        ops = (before, anchor, after)
        problem = _unfit(ops)
        if problem is not None:
            return problem
        # Always worth it: two passes over memory are saved and nothing is computed twice.
        return Match(cls(), ops, after.results, estimate(ops, after.results))

    def verify(self, body: Body) -> Miss | None:
        if len(body.ops) != 3:
            return Miss(f"the body has {len(body.ops)} ops; expected 3")
        if list(body.results) != list(body.ops[2].results):
            return Miss("the body does not yield what its last op makes")
        return _unfit(body.ops)


def unfit_pool(op: Operation) -> Miss | None:
    """Why an op on channels-first tensors is no pool that has a channels-last kernel."""
    if not isinstance(op, onnx.MaxPoolOp | onnx.AveragePoolOp):
        return Miss(f"{op.name} is no pool")
    data, result = shape_of(op.operands[0]), shape_of(op.results[0])
    if data is None or result is None or len(data) != len(result):
        return Miss("the rank of the input or the result of the pool is not known")
    if not 3 <= len(data) <= 5:
        return Miss(f"a pool over {len(data) - 2} spatial dims has no kernel")
    if any(index.first_use is not None for index in op.results[1:]):
        return Miss("the places of the maxima are read, which count channels-first")
    if data[1] in (DYNAMIC_INDEX, 0):
        return Miss("the channels of the pool are not known")
    element = element_of(op.operands[0])
    integer = as_integer(element) if isinstance(op, onnx.MaxPoolOp) else None
    if element not in FLOATS and (integer is None or integer.width.data < 8):
        return Miss(f"{op.name} of element type {element} has no kernel")
    return _unfit_window(op, len(data) - 2)


def _unfit(ops: Sequence[Operation]) -> Miss | None:
    """Why three ops are no pool of channels-last tensors."""
    before, pool, after = ops
    problem = unfit_pool(pool)
    if problem is not None:
        return problem
    rank = len(shape_of(pool.operands[0]) or ())
    source = shape_of(before.operands[0])
    if source is None or len(source) != rank:
        return Miss("the rank of the input or the result of the pool is not known")
    if not _permutes(before, (0, rank - 1, *range(1, rank - 1))) or before.results[0] is not pool.operands[0]:
        return Miss("the input of the pool is no Transpose from channels last")
    if not _permutes(after, (0, *range(2, rank), 1)) or after.operands[0] is not pool.results[0]:
        return Miss("the result of the pool is not read by one Transpose to channels last alone")
    return None


def _unfit_window(pool: Operation, spatial: int) -> Miss | None:
    kernel = ints_attr(pool, "kernel_shape") or ()
    if math.prod(kernel) > MAX_TAPS:
        return Miss(f"a window of {math.prod(kernel)} places is too large")
    for name, count, least in (
        ("kernel_shape", spatial, 1),
        ("strides", spatial, 1),
        ("dilations", spatial, 1),
        ("pads", 2 * spatial, 0),
    ):
        given = ints_attr(pool, name)
        if given is None and name != "kernel_shape":
            continue
        if given is None or len(given) != count:
            return Miss(f"{name} of a pool has {len(given or ())} entries; expected {count}")
        if min(given) < least:
            return Miss(f"{name} of a pool has an entry below {least}")
    return None


def _permutes(op: Operation, perm: tuple[int, ...]) -> bool:
    return isinstance(op, onnx.TransposeOp) and ints_attr(op, "perm") == perm
