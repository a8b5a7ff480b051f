"""How does an image get its borders? One copy into the layout windows are read from.

`loom.image_space` describes the layout: rows that some window touches, each split by the column stride
into phases. Behind the last row lie some elements that may be read but mean nothing, so that loops over
whole vectors need no edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, ranked
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.dialects import loom
from onnxloom.dialects.loom.conv_space import Window
from onnxloom.dialects.onnx.semantics.scalars import Scalar, compute_type

SLACK = 64
"""Elements behind the last row that may be read: more than any vector holds."""


@dataclass(frozen=True)
class WindowSizes:
    """Program-level sizes of a window over an input: the results of `loom.image_space`."""

    outputs: Sequence[SSAValue]
    begins: Sequence[SSAValue]
    rows: Sequence[SSAValue]
    columns: SSAValue
    """Columns per phase."""


def window_sizes(builder: KernelBuilder, source: SSAValue, window: Window) -> WindowSizes:
    """The sizes of `window` over `source` (`[N, C, *spatial]`)."""
    results = list(builder.insert(loom.ImageSpaceOp(source, window)).results)
    d = window.rank
    return WindowSizes(results[:d], results[d : 2 * d], results[2 * d : -1], results[-1])


def build_padded_image(
    builder: KernelBuilder,
    source: SSAValue,
    window: Window,
    sizes: WindowSizes,
    border: float,
    *,
    split: bool = True,
) -> SSAValue:
    """Copies `source` into a padded image whose borders hold `border`; half-width floats become f32.

    Without `split` the elements of a row stay in order; its length is the same.
    """
    planes = builder.multiply([builder.dim(source, 0), builder.dim(source, 1)])
    spatial = [builder.dim(source, 2 + i) for i in range(window.rank)]
    type_ = TensorType(compute_type(ranked(source.type, "operand").element_type), [DYNAMIC_INDEX])
    row = builder.multiply([builder.index(window.strides[-1]), sizes.columns])
    count = builder.multiply([planes, *sizes.rows, row])
    total = builder.insert(arith.AddiOp(count, builder.index(SLACK))).results[0]
    args = [planes, *spatial, *sizes.begins, *sizes.rows, sizes.columns if split else row]
    kernel = builder.kernel("pad_image", [source], [type_], len(args))
    _Writer(kernel, window.rank, window.strides[-1] if split else 1, border).write()
    return builder.launch(kernel, [source], [builder.empty(type_, [total])], args)[0]


class _Writer:
    """Writes the copy."""

    def __init__(self, kernel: KernelBody, d: int, stride: int, border: float):
        """`d` spatial dims; rows are split into `stride` phases."""
        self.kernel, self.stride = kernel, stride
        sizes = iter(kernel.sizes)
        self.planes = next(sizes)
        self.spatial = [next(sizes) for _ in range(d)]
        self.begins = [next(sizes) for _ in range(d)]
        self.rows = [next(sizes) for _ in range(d - 1)]
        self.columns = next(sizes)
        element = kernel.outs[0].type.element_type  # pyright: ignore
        self.border = kernel.scalars.const(border, element)  # pyright: ignore[reportUnknownArgumentType]

    def write(self) -> None:
        k = self.kernel
        with k.task_nest(self.planes, *self.rows[:1]) as (plane, *row):
            if row:
                self._row(0, row[0], (plane, plane), None)
            else:
                self._phases(plane, plane, None)

    def _rows(self, depth: int, source: Scalar, target: Scalar, inside: Scalar | None) -> None:
        """`source` and `target` count rows of the dims so far; `inside`: whether the source row exists."""
        k = self.kernel
        if depth == len(self.rows):
            self._phases(source, target, inside)
            return
        with k.loop(self.rows[depth]) as i:
            self._row(depth, i, (source, target), inside)

    def _row(self, depth: int, i: Scalar, at: tuple[Scalar, Scalar], inside: Scalar | None) -> None:
        """Row `i` of dim `depth`; `at` is where source and target stand."""
        k, s = self.kernel, self.kernel.scalars
        row = k.sub(i, self.begins[depth])
        there = s.and_(s.cmp("ge", row, k.index(0)), s.cmp("lt", row, self.spatial[depth]))
        both = there if inside is None else s.and_(inside, there)
        source = k.add(k.mul(at[0], self.spatial[depth]), row)
        self._rows(depth + 1, source, k.add(k.mul(at[1], self.rows[depth]), i), both)

    def _phases(self, source: Scalar, target: Scalar, inside: Scalar | None) -> None:
        k, s = self.kernel, self.kernel.scalars
        begin, width = self.begins[-1], self.spatial[-1]
        stride, zero = k.index(self.stride), k.index(0)
        source_at = k.sub(k.mul(source, width), begin)
        with k.loop(stride) as phase:
            target_at = k.mul(k.add(k.mul(target, stride), phase), self.columns)
            ahead = k.sub(begin, phase)
            first = s.emit(arith.CeilDivSIOp(ahead, stride))
            last = s.emit(arith.CeilDivSIOp(k.add(width, ahead), stride))
            start = s.minimum(s.maximum(first, zero), self.columns)
            stop = s.minimum(s.maximum(last, start), self.columns)
            if inside is not None:
                start, stop = s.select(inside, start, zero), s.select(inside, stop, zero)
            with k.loop(start, parallel=True) as j:
                k.store(self.border, k.outs[0], k.add(target_at, j))
            with k.loop(stop, start=start, parallel=True) as j:
                at = k.add(k.add(source_at, phase), k.mul(j, stride))
                k.store(s.widen(k.load(k.ins[0], at)), k.outs[0], k.add(target_at, j))
            with k.loop(self.columns, start=stop, parallel=True) as j:
                k.store(self.border, k.outs[0], k.add(target_at, j))
