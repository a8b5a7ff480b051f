"""When does nearest-neighbour resizing only repeat elements, and how are they repeated?"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.resampling.taps import Filter

MOST = 4
"""Times an element is repeated at most along an axis; each is a store of the inner loop."""

BLOCK = 4096
"""Elements of a row that are a task."""

_HALVES = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")


def repeats(
    rule: Filter, factors: Sequence[float | None], axes: Sequence[int], rank: int
) -> tuple[int, int] | None:
    """How often elements are repeated along the last two axes; None if that is not all that happens."""
    floors = rule.transform == "asymmetric" and rule.nearest == "floor"
    # Centres of pixels lie less than half a pixel from the centre of the one they are part of.
    rounds = rule.transform in _HALVES and rule.nearest in ("round_prefer_floor", "round_prefer_ceil")
    if rule.mode != "nearest" or not (floors or rounds):
        return None
    counts = [1] * max(rank, 2)
    for axis, factor in zip(axes, factors, strict=True):
        if factor is None or factor not in range(1, MOST + 1):
            return None
        counts[axis - rank] = int(factor)
    return None if any(count != 1 for count in counts[:-2]) else (counts[-2], counts[-1])


def replicated(
    builder: KernelBuilder, data: SSAValue, counts: tuple[int, int], type_: TensorType[Attribute]
) -> SSAValue:
    """Each row written `counts[0]` times, each element of it `counts[1]` times."""
    rows, times = counts
    dims, word = builder.dims(data), word_type(type_)
    k = KernelBody(f"replicate_{rows}x{times}", [word], [word], 2)
    count, width = k.sizes
    blocks = k.scalars.emit(arith.CeilDivSIOp(width, k.index(BLOCK)))
    with k.task_nest(count, blocks) as (row, block):
        begin = k.mul(block, k.index(BLOCK))
        end = k.scalars.minimum(width, k.add(begin, k.index(BLOCK)))
        source, wide = k.mul(row, width), k.mul(width, k.index(times))
        targets = [k.mul(k.at(row, k.index(rows), k.index(r)), wide) for r in range(rows)]
        with k.loop(end, start=begin, parallel=True) as i:
            value = k.load(k.ins[0], k.add(source, i))
            for target in targets:
                for t in range(times):
                    k.store(value, k.outs[0], k.add(target, k.at(i, k.index(times), k.index(t))))
    growth = [*[1] * (len(dims) - 2), *counts][-len(dims) :]
    out_dims = [builder.multiply([dim, builder.index(g)]) for dim, g in zip(dims, growth, strict=True)]
    sizes = [builder.multiply(dims[:-1]), dims[-1]]
    return builder.launch(k, [data], [builder.empty(type_, out_dims)], sizes)[0]
