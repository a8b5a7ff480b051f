"""How is a depthwise convolution lowered? Tap by tap over whole vectors of neighbouring outputs.

Each output channel reads one channel of the padded image. A vector may reach past the end of a result
row, where what it writes is written again by the next row; only the last elements of the whole result
are computed one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    ranked,
    reassociated,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.padded_image import build_padded_image, window_sizes
from onnxloom.dialects import loom
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar, bit_width, is_float

MAX_TAPS = 49
"""Windows of more taps are left to the general convolution: every tap is an operation of the kernel."""


def build_depthwise(
    builder: KernelBuilder, name: str, conv: Convolution, column_strides: Sequence[int | None]
) -> SSAValue:
    """Writes the kernels of a convolution whose groups have one input channel each.

    `column_strides` says per epilogue operand how it moves along the flattened spatial dims (0 or 1;
    None where that depends on sizes). Raises Declined.
    """
    window = conv.window
    sizes = window_sizes(builder, conv.source, window)
    image = build_padded_image(builder, conv.source, window, sizes, 0.0, split=False)
    result_type = ranked(conv.result_type, "the result")
    space = builder.insert(
        loom.ConvSpaceOp(conv.source, conv.weights, conv.others, window, conv.group)
    ).results
    dims = [builder.dim(conv.source, 0), builder.dim(conv.weights, 0), *sizes.outputs]
    ins = [conv.weights, image, *conv.others]
    kernel = KernelBody(
        name, [buffer_element(v.type) for v in ins], [buffer_element(result_type)], len(space)
    )
    lanes = builder.kernels.target.lanes(max(1, bit_width(buffer_element(conv.source.type)) // 8))
    _Writer(kernel, conv, column_strides, lanes).write()
    return builder.launch(kernel, ins, [builder.empty(result_type, dims)], list(space))[0]


class _Writer:
    """Writes the loop nest; sizes are the results of `loom.conv_space`."""

    def __init__(
        self, kernel: KernelBody, conv: Convolution, column_strides: Sequence[int | None], lanes: int
    ):
        self.kernel, self.conv, self.lanes = kernel, conv, lanes
        self.window: Window = conv.window
        self.column_strides = column_strides
        sizes = iter(kernel.sizes)
        others = len(conv.others)
        self.batch, self.group, self.rows, self.points, _ = (next(sizes) for _ in range(5))
        self.lines = [[next(sizes) for _ in range(3)] for _ in range(3 + others)]
        for _ in range(3):
            next(sizes)
        self.by_column = [next(sizes) for _ in range(others)]
        _, self.width = next(sizes), next(sizes)
        self.leading = [next(sizes) for _ in range(self.window.rank - 1)]
        self.strides = [next(sizes) for _ in range(self.window.rank - 1)]
        self.weights, self.image, *self.others = kernel.ins

    def write(self) -> None:
        k = self.kernel
        last = k.mul(self.batch, self.lines[2][0])
        with k.loop(self.batch) as n, k.loop(self.group) as g, k.loop(self.rows) as m:
            index = (n, g, m)
            at = [
                k.add(k.add(k.mul(index[0], a), k.mul(index[1], b)), k.mul(index[2], c))
                for a, b, c in self.lines
            ]
            taps = math.prod(self.window.kernel)
            weights = [
                k.scalars.widen(k.load(self.weights, k.add(at[0], k.index(tap)))) for tap in range(taps)
            ]
            self._rows(0, at[1], k.index(0), at, weights, last)

    def _rows(
        self,
        depth: int,
        source: Scalar,
        row: Scalar,
        at: list[Scalar],
        weights: Sequence[Scalar],
        last: Scalar,
    ) -> None:
        k = self.kernel
        if depth < len(self.leading):
            with k.loop(self.leading[depth]) as i:
                step = k.mul(k.index(self.window.strides[depth]), self.strides[depth])
                following = k.add(k.mul(row, self.leading[depth]), i)
                self._rows(depth + 1, k.add(source, k.mul(i, step)), following, at, weights, last)
            return
        lanes, start = k.index(self.lanes), k.mul(row, self.width)
        taps = [k.add(source, self._tap(tap)) for tap in itertools.product(*map(range, self.window.kernel))]
        with k.loop(k.scalars.emit(arith.CeilDivSIOp(self.width, lanes))) as v:
            column = k.mul(v, lanes)
            point = k.add(start, column)
            inside = k.scalars.cmp("le", k.add(k.add(at[2], point), lanes), last)
            for stride, known in zip(self.by_column, self.column_strides, strict=True):
                if known is None:
                    inside = k.scalars.and_(inside, k.scalars.cmp("eq", stride, k.index(1)))
            with k.branch(inside) as (whole, edge):
                with k.inside(whole):
                    literal = [k.index(1 if known is None else known) for known in self.column_strides]
                    self._outputs(lanes, column, point, taps, at, weights, literal)
                with k.inside(edge):
                    rest = k.scalars.minimum(lanes, k.sub(self.width, column))
                    strides = [
                        stride if known is None else k.index(known)
                        for stride, known in zip(self.by_column, self.column_strides, strict=True)
                    ]
                    self._outputs(rest, column, point, taps, at, weights, strides)

    def _tap(self, tap: Sequence[int]) -> Scalar:
        """Offset of a tap from its window's first element."""
        k, window = self.kernel, self.window
        offset = k.index(0)
        for i, stride, dilation in zip(tap[:-1], self.strides, window.dilations[:-1], strict=True):
            offset = k.add(offset, k.mul(k.index(i * dilation), stride))
        return k.add(offset, k.index(tap[-1] * window.dilations[-1]))

    def _outputs(
        self,
        count: Scalar,
        column: Scalar,
        point: Scalar,
        taps: Sequence[Scalar],
        at: list[Scalar],
        weights: Sequence[Scalar],
        strides: Sequence[Scalar],
    ) -> None:
        """`count` neighbouring outputs from `column` of a row (`point` of the plane) on."""
        k, s = self.kernel, self.kernel.scalars
        fixed = k.load_fixed(self.others, at[3:], self.column_strides)
        with k.loop(count, parallel=True) as lane:
            x = k.mul(k.add(column, lane), k.index(self.window.strides[-1]))
            total: Scalar | None = None
            for weight, tap in zip(weights, taps, strict=True):
                term = s.mul(weight, s.widen(k.load(self.image, k.add(tap, x))))
                total = (
                    reassociated(term) if total is None else reassociated(s.add(total, reassociated(term)))
                )
            assert total is not None
            p = k.add(point, lane)
            operands = [
                k.load(buffer, k.add(start, k.mul(p, stride))) if held is None else held
                for buffer, start, stride, held in zip(self.others, at[3:], strides, fixed, strict=True)
            ]
            k.store(self._finish(total, operands), k.outs[0], k.add(at[2], p))

    def _finish(self, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        s, conv = self.kernel.scalars, self.conv
        if conv.epilogue is not None:
            return conv.epilogue(s, value, operands)
        target = buffer_element(conv.result_type)
        return s.float_to(value, target) if is_float(value.type) and value.type != target else value


def is_depthwise(conv: Convolution) -> bool:
    """Whether every group reads one channel, through a window of few taps."""
    return conv.group > 1 and shape_of(conv.weights)[1] == 1 and math.prod(conv.window.kernel) <= MAX_TAPS
