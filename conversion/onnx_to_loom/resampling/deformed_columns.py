"""How are the taps of deformed windows sampled? A block of neighbouring windows at a time, tap by tap."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64

from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.sample_points import POINTS, Points, Sampling
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar


def columns_kernel(k: KernelBody, window: Window, groups: int, elements: Elements) -> None:
    """Inputs: images, offsets, factors of the taps if there are any. Output: a row per channel and tap.

    Sizes: images, channels that share their offsets, dims of an image, dims of the result, channels.
    """
    images, each, height, width, rows, columns, channels = k.sizes
    s = k.scalars
    points = Points(k, Sampling(2, "linear", "zeros", True, elements), [height, width])
    count = k.mul(rows, columns)
    taps = window.kernel[0] * window.kernel[1]
    blocks = s.emit(arith.CeilDivSIOp(count, k.index(POINTS)))
    with k.task_nest(images, k.index(groups), k.index(taps), blocks) as (n, g, tap, b):
        begin = k.mul(b, k.index(POINTS))
        size = s.minimum(k.sub(count, begin), k.index(POINTS))
        number = k.at(k.at(n, k.index(groups), g), k.index(taps), tap)
        moves = k.mul(number, k.index(2))
        cell = k.split(tap, [k.index(v) for v in window.kernel])
        with k.loop(size, parallel=True) as p:
            at = k.add(begin, p)
            factor = k.load(k.ins[2], k.at(number, count, at)) if len(k.ins) > 2 else None
            for d, corner in enumerate(k.split(at, [rows, columns])):
                start = k.mul(corner, k.index(window.strides[d]))
                step = k.mul(cell[d], k.index(window.dilations[d]))
                base = k.sub(k.add(start, step), k.index(window.pads[d]))
                move = s.widen(k.load(k.ins[1], k.at(k.add(moves, k.index(d)), count, at)))
                place = s.add(s.int_to_float(k.from_index(base, i64), move.type, unsigned=False), move)
                scale: Scalar | None = None if factor is None or d else s.widen(factor)
                points.put(d, place, p, scale)
        with k.loop(each) as i:
            channel = k.at(n, channels, k.at(g, each, i))
            source = k.mul(channel, points.area)
            target = k.add(k.mul(k.at(channel, k.index(taps), tap), count), begin)
            with k.loop(size, parallel=True) as p:
                value = elements.stored(s, points.sample(source, p))
                k.store(value, k.outs[0], k.add(target, p))
