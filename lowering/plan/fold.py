"""Which packing and host steps can be evaluated once, when the program is built?"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.errors import OnnxloomError
from onnxloom.lowering.plan.program import Array, Constants, HostStep, PackStep, Slot, is_array
from onnxloom.lowering.runtime.host_step import HostRunner

GROWTH_LIMIT = 16 << 20
"""A folded result may be this many bytes larger than what it is made from."""


def fold_pack(step: PackStep, source: Array) -> Array:
    """The packed array."""
    from onnxloom.dialects.loom.packing import PACKERS

    packer = PACKERS.get(step.layout)
    if packer is None:
        raise OnnxloomError(f"loom.pack: there is no layout {step.layout!r}")
    return read_only(packer(source, dict(step.params)))


def fold_host(step: HostStep, known: dict[Slot, int], table: Constants) -> list[Any] | None:
    """The results of a host step that reads constants only; None when it cannot be folded.

    An op that fails here may stand in a branch that is never taken: it fails when it is reached.
    """
    if step.volatile or any(slot not in known for slot in step.args):
        return None
    inputs = [table.values[known[slot]] for slot in step.args]
    try:
        results = HostRunner(table).run(step, inputs)
    except Exception:  # whatever the op raises, it raises again, with its name, at run time
        return None
    if _nbytes(results) > _nbytes(inputs) + GROWTH_LIMIT:
        return None
    return [read_only(r) for r in results]


def read_only(value: Any) -> Any:
    """`value` as an array that cannot be written and is laid out as kernels read it."""
    if not is_array(value):
        return value
    array: Array = np.array(value, order="C") if not value.flags.c_contiguous else value
    array = array.view() if array.flags.writeable else array
    array.flags.writeable = False
    return array


def _nbytes(values: list[Any]) -> int:
    return sum(v.nbytes for v in values if is_array(v))
