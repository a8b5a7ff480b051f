"""What does fusing a chain save? Bytes of memory traffic and kernel launches, from the types alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.transforms.fusion.body import is_cloned
from onnxloom.transforms.fusion.match import Benefit
from onnxloom.transforms.fusion.spaces import element_of, shape_of


def byte_count(value: SSAValue) -> tuple[int, bool]:
    """Bytes of a tensor with unknown dims counted as 1, and whether there are any."""
    shape = shape_of(value)
    element = element_of(value)
    dtype = None if element is None else ELEMENT_TO_DTYPE.get(element)
    if shape is None or dtype is None:
        return 0, True
    known = [dim for dim in shape if dim != DYNAMIC_INDEX]
    return math.prod(known) * dtype.itemsize, len(known) != len(shape)


def estimate(ops: Sequence[Operation], results: Sequence[SSAValue], recomputed: int = 0) -> Benefit:
    """The benefit of running `ops` as one kernel that writes `results`.

    A value between two ops is neither written nor read, an input is read once instead of by each op.
    """
    inside = set(ops)
    yielded = set(results)
    traffic = 0
    is_lower_bound = False
    reads: dict[SSAValue, int] = {}
    for op in ops:
        for operand in op.operands:
            if not is_cloned(operand):
                reads[operand] = reads.get(operand, 0) + 1
    for value, count in reads.items():
        size, is_partial = byte_count(value)
        is_internal = value.owner in inside
        # Internal: every read is saved, and the write unless it is a result. External: one read stays.
        saved = count + (value not in yielded) if is_internal else count - 1
        traffic += size * saved
        is_lower_bound = is_lower_bound or (is_partial and saved > 0)
    return Benefit(len(ops) - 1, traffic, recomputed, is_lower_bound)
