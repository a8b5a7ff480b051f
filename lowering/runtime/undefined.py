"""Which bytes depend on memory that nobody wrote? Those that differ between two runs of what made them.

In the second run all memory that nobody wrote holds something else: outputs, scratch memory, and those bytes
of the inputs that were found to be undefined before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from onnxloom.lowering.plan.node import Fetch
from onnxloom.lowering.plan.program import Array
from onnxloom.lowering.plan.stretch import Launch
from onnxloom.lowering.plan.values import Buffer, Value


@dataclass
class Undefined:
    """What is known of one buffer."""

    buffer: Buffer
    mask: Array
    """Per byte whether it is undefined."""
    launch: Launch
    """The first launch that is to blame."""
    problem: str
    """What it did."""


@dataclass
class UndefinedBytes:
    """Those of all buffers of a stretch, while it runs."""

    found: dict[int, Undefined] = field(default_factory=dict[int, Undefined])

    def of(self, value: Value) -> Array | None:
        """The bytes of `value` that are undefined; None if none is."""
        if value.buffer is None:
            return None
        known = self.found.get(id(value.buffer.storage()))
        if known is None:
            return None
        mask = known.mask[value.offset : value.offset + value.nbytes]
        return mask if mask.any() else None

    def note(self, value: Value, mask: Array, launch: Launch, problem: str) -> None:
        """`launch` wrote `value`: these bytes of it are undefined now, the others defined."""
        assert value.buffer is not None
        buffer = value.buffer.storage()
        known = self.found.get(id(buffer))
        if known is None:
            if not mask.any():
                return
            known = Undefined(buffer, np.zeros(buffer.nbytes, bool), launch, problem)
            for cause in (v.buffer for v in launch.ins if v.buffer is not None):
                earlier = self.found.get(id(cause.storage()))
                if earlier is not None:
                    known.launch, known.problem = earlier.launch, earlier.problem
            self.found[id(buffer)] = known
        known.mask[value.offset : value.offset + value.nbytes] = mask
        if not known.mask.any():
            del self.found[id(buffer)]

    def in_cell(self, fetch: Fetch) -> Undefined | None:
        """What is undefined in a value that a run hands on."""
        for known in self.found.values():
            if fetch.cell < 0 or known.buffer.cell != fetch.cell:
                continue
            size = None if fetch.dtype is None else math.prod(fetch.shape) * fetch.dtype.itemsize
            if known.mask[fetch.offset :][:size].any():
                return known
        return None

    def in_arena(self, offset: int, nbytes: int) -> Undefined | None:
        """What is undefined in some bytes of the arena."""
        for known in self.found.values():
            first = offset - known.buffer.offset
            inside = known.buffer.cell is None and 0 <= first < known.buffer.nbytes
            if inside and known.mask[first : first + nbytes].any():
                return known
        return None
