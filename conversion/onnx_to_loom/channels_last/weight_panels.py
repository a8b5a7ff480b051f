"""How do the weights of a channels-last convolution become column panels?

Ahead of time if they are constant, else by a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, f32, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, ranked
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.plan_known import is_plan_known
from onnxloom.conversion.onnx_to_loom.products.widening import is_half
from onnxloom.dialects import loom
from onnxloom.dialects.loom.channels_last_space import panel_width
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.dialects.onnx.semantics.scalars import compute_type


def packed_weights(
    builder: KernelBuilder, conv: Convolution, tile: GemmTile, space: Sequence[SSAValue], merged: bool
) -> SSAValue:
    """The weights as `conv_panels` (`dialects/loom/packing.py`); `space`: of `loom.channels_last_space`."""
    type_ = ranked(conv.weights.type, "the weights")
    if not is_plan_known(conv.weights):
        if conv.border:
            raise Declined("weights that are not constant have no border other than zero")
        return _pack(builder, conv, space)
    rows, channels, *kernel = type_.get_shape()
    width = panel_width(rows // conv.group, tile)
    panels = conv.group * -(-(rows // conv.group) // width)
    zeros = channels * kernel[-1] if merged else channels
    single = is_half(type_.element_type)
    size = panels * channels * math.prod(kernel) * width + zeros
    params: dict[str, Attribute] = {
        name: IntegerAttr(value, i64)
        for name, value in {
            "columns": width,
            "group": conv.group,
            "zeros": zeros,
            "border": conv.border,
            "single": int(single),
        }.items()
    }
    packed = TensorType(f32 if single else type_.element_type, [size])
    return builder.insert(loom.PackOp(conv.weights, "conv_panels", params, packed)).results[0]


def _pack(builder: KernelBuilder, conv: Convolution, space: Sequence[SSAValue]) -> SSAValue:
    """The same, by a kernel."""
    element = compute_type(buffer_element(conv.weights.type))
    panels, group_panels, width, columns, depth, zeros_at = (space[i] for i in (6, 8, 9, 10, 11, 14))
    channels = builder.dim(conv.weights, 1)
    taps = builder.index(math.prod(conv.window.kernel))
    size = builder.insert(arith.AddiOp(zeros_at, depth)).results[0]
    sizes = [panels, group_panels, width, columns, channels, taps, zeros_at, depth]
    kernel = KernelBody("pack_conv_panels", [buffer_element(conv.weights.type)], [element], len(sizes))
    _write(kernel, element)
    target = builder.empty(TensorType(element, [DYNAMIC_INDEX]), [size])
    return builder.launch(kernel, [conv.weights], [target], sizes)[0]


def _write(k: KernelBody, element: Attribute) -> None:
    panels, group_panels, width, columns, channels, taps, zeros_at, zeros = k.sizes
    s = k.scalars
    zero = s.const(0.0, element)
    with k.tasks(k.add(panels, k.index(1))) as panel:
        # The last task writes what taps outside of the image read.
        is_behind = s.cmp("eq", panel, panels)
        with k.loop(s.select(is_behind, zeros, k.index(0)), parallel=True) as j:
            k.store(zero, k.outs[0], k.add(zeros_at, j))
        group = s.emit(arith.DivSIOp(panel, group_panels))
        column = k.mul(k.remainder(panel, group_panels), width)
        count = s.minimum(width, k.sub(columns, column))
        first = k.add(k.mul(group, columns), column)
        with k.loop(s.select(is_behind, k.index(0), taps)) as tap, k.loop(channels) as channel:
            row = k.add(k.mul(panel, k.mul(taps, channels)), k.at(tap, channels, channel))
            target = k.mul(row, width)
            with k.loop(count) as j:
                source = k.at(k.at(k.add(first, j), channels, channel), taps, tap)
                k.store(s.widen(k.load(k.ins[0], source)), k.outs[0], k.add(target, j))
            with k.loop(width, start=count, parallel=True) as j:
                k.store(zero, k.outs[0], k.add(target, j))
