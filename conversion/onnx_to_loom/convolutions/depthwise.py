"""How is a depthwise convolution lowered? As a sweep of each plane of the padded image.

Each output channel reads one channel, so that there is no product to tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    ranked,
    reassociated,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.convolutions.convolution import Convolution
from onnxloom.conversion.onnx_to_loom.convolutions.padded_image import build_padded_image, window_sizes
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.windows.window_sweep import Lane, WindowSweep, has_few_taps, plane_tasks
from onnxloom.dialects import loom
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar, bit_width, compute_type, is_float


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
    lanes = builder.kernels.target.lanes(
        max(1, bit_width(compute_type(buffer_element(conv.source.type))) // 8)
    )
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
        whole, covers = self._strides_agree(), self._operands_cover()
        counts = [self.batch, self.group, self.rows]
        planes = k.mul(k.mul(self.batch, self.group), self.rows)
        with plane_tasks(k, planes) as (plane, last):
            n, g, m = k.split(plane, counts)
            at = [k.add(k.add(k.mul(n, a), k.mul(g, b)), k.mul(m, c)) for a, b, c in self.lines]
            taps = range(math.prod(self.window.kernel))
            weights = [k.scalars.widen(k.load(self.weights, k.add(at[0], k.index(tap)))) for tap in taps]
            fixed: list[Scalar | None] = []

            def hold() -> None:
                fixed[:] = k.load_fixed(self.others, at[3:], self.column_strides)

            end = k.mul(last, self.points)
            if covers is not None:
                end = k.scalars.select(covers, end, k.add(at[2], self.points))
            sweep = WindowSweep(k, self.window, [*self.leading, self.width], self.strides, self.lanes)
            sweep.write(
                at[1],
                k.sub(end, at[2]),
                lambda lane: self._output(lane, at, weights, fixed),
                before=hold,
                whole=whole,
            )

    def _strides_agree(self) -> Scalar | None:
        """Whether epilogue operands whose stride depends on sizes move along the columns."""
        k = self.kernel
        result: Scalar | None = None
        for stride, known in zip(self.by_column, self.column_strides, strict=True):
            if known is None:
                agrees = k.scalars.cmp("eq", stride, k.index(1))
                result = agrees if result is None else k.scalars.and_(result, agrees)
        return result

    def _operands_cover(self) -> Scalar | None:
        """Whether operands that move along the points have as many elements as the result.

        Those of fewer planes have nothing behind the end of a plane that a vector could read.
        """
        k, s = self.kernel, self.kernel.scalars
        last = [k.sub(count, k.index(1)) for count in (self.batch, self.group, self.rows)]

        def last_plane(line: Sequence[Scalar]) -> Scalar:
            offset = k.index(0)
            for i, stride in zip(last, line, strict=True):
                offset = k.add(offset, k.mul(i, stride))
            return offset

        result: Scalar | None = None
        for line, known in zip(self.lines[3:], self.column_strides, strict=True):
            if known != 0:
                covers = s.cmp("eq", last_plane(line), last_plane(self.lines[2]))
                result = covers if result is None else s.and_(result, covers)
        return result

    def _output(
        self, lane: Lane, at: list[Scalar], weights: Sequence[Scalar], fixed: Sequence[Scalar | None]
    ) -> None:
        k, s = self.kernel, self.kernel.scalars
        total: Scalar | None = None
        for weight, tap in zip(weights, lane.taps, strict=True):
            term = reassociated(s.mul(weight, s.widen(k.load(self.image, tap))))
            total = term if total is None else reassociated(s.add(total, term))
        assert total is not None
        operands: list[Scalar] = []
        rows = zip(self.others, at[3:], self.by_column, self.column_strides, fixed, strict=True)
        for buffer, start, stride, known, held in rows:
            if held is None:
                known = 1 if known is None and lane.literal else known
                moves = stride if known is None else k.index(known)
                held = k.load(buffer, k.add(start, k.mul(lane.point, moves)))
            operands.append(held)
        k.store(self._finish(total, operands), k.outs[0], k.add(at[2], lane.point))

    def _finish(self, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        s, conv = self.kernel.scalars, self.conv
        if conv.epilogue is not None:
            return conv.epilogue(s, value, operands)
        target = buffer_element(conv.result_type)
        return s.float_to(value, target) if is_float(value.type) and value.type != target else value


def is_depthwise(conv: Convolution) -> bool:
    """Whether every group reads one channel, through a window of few taps."""
    return conv.group > 1 and shape_of(conv.weights)[1] == 1 and has_few_taps(conv.window)
