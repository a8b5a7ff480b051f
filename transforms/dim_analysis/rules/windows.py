"""Convolutions and pooling: dims that depend on kernel, stride, dilation and padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import str_attr
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import ceil_div, floor_div, minimum, positive_part
from onnxloom.transforms.dim_analysis.facts import Impossible, Inferred, Result, Rule, Shape
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import ONE, text


@dataclass(frozen=True)
class Window:
    """The attributes that convolutions and pools share, one entry per spatial axis."""

    auto_pad: str
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @staticmethod
    def of(query: OpQuery, spatial: int) -> Window:
        pads = query.ints_attr("pads") or (0,) * (2 * spatial)
        strides = query.ints_attr("strides") or (1,) * spatial
        dilations = query.ints_attr("dilations") or (1,) * spatial
        for name, found, wanted in (
            ("pads", pads, 2 * spatial),
            ("strides", strides, spatial),
            ("dilations", dilations, spatial),
        ):
            if len(found) != wanted:
                raise Impossible(f"{name} has {len(found)} entries; expected {wanted}")
        if min((*strides, *dilations), default=1) < 1:
            raise Impossible("a stride or dilation is below 1")
        auto_pad = str_attr(query.op, "auto_pad", "NOTSET")
        if auto_pad == "VALID":
            pads = (0,) * (2 * spatial)
        return Window(auto_pad, strides, dilations, pads[:spatial], pads[spatial:])

    def output(
        self, axis: int, dim: DimExpr, kernel: DimExpr, *, clips: bool = False, ceil_mode: bool = False
    ) -> DimExpr:
        """Number of places a window is put at along one spatial axis.

        One that `clips` has a place where less than a stride is missing for it; so has one in `ceil_mode`.
        """
        stride = DimExpr.of(self.strides[axis])
        if self.auto_pad.startswith("SAME"):
            return ceil_div(dim, stride)
        padded = dim + (self.begins[axis] + self.ends[axis])
        room = padded - ((kernel - 1) * self.dilations[axis] + 1)
        lenient = ceil_mode or (clips and dim.constant != 0)
        least = 1 - self.strides[axis] if lenient else 0
        if room.constant is not None and room.constant < least:
            raise Impossible(f"a window of {kernel} does not fit into a padded dim of {padded}")
        if not ceil_mode:
            steps = floor_div(room, stride)
            missing = (dim - 1 - room).constant  # what a dim of 1 lacks for a window
            fits = stride.is_one() or (missing is not None and missing <= 0)
            return (positive_part(steps) if clips and not fits else steps) + 1
        # The last window starts inside the input or its leading padding.
        return minimum(ceil_div(room, stride) + 1, ceil_div(dim + self.begins[axis], stride))


def conv_rule(weight: int, element_of: int | Attribute) -> Rule:
    """A convolution of operand 0 with the operand at `weight`."""

    def rule(query: OpQuery) -> Sequence[Result]:
        element = query.element(element_of) if isinstance(element_of, int) else element_of
        return [Inferred(_conv_dims(query, query.shape(0), query.shape(weight)), element)]

    return rule


def _rank(shape: Shape | None, weight: Shape | None) -> int | None:
    known = shape if shape is not None else weight
    if known is None:
        return None
    if len(known) < 3:
        raise Impossible(f"input {text(known)} has rank {len(known)}; expected 3 or more")
    if shape is not None and weight is not None and len(shape) != len(weight):
        raise Impossible(f"input {text(shape)} and weight {text(weight)} differ in rank")
    return len(known)


def _kernel(query: OpQuery, weight: Shape | None, spatial: int) -> Sequence[DimExpr] | None:
    if weight is not None:
        return weight[2:]
    kernel = query.ints_attr("kernel_shape")
    return None if kernel is None or len(kernel) != spatial else [DimExpr.of(size) for size in kernel]


def _conv_dims(query: OpQuery, shape: Shape | None, weight: Shape | None) -> Sequence[DimExpr | None] | None:
    rank = _rank(shape, weight)
    if rank is None:
        return None
    window, kernel = Window.of(query, rank - 2), _kernel(query, weight, rank - 2)
    channels = None if weight is None else weight[0]
    if shape is None:
        return [None, channels, *[None] * (rank - 2)]
    if weight is not None:
        expected = weight[1] * query.int_attr("group")
        if None not in (expected.constant, shape[1].constant) and expected != shape[1]:
            raise Impossible(f"input {text(shape)} has {shape[1]} channels; the weight expects {expected}")
    if kernel is None:
        return [shape[0], channels, *[None] * (rank - 2)]
    spatial = [window.output(axis, dim, kernel[axis]) for axis, dim in enumerate(shape[2:])]
    return [shape[0], channels, *spatial]


def _conv_transpose(query: OpQuery) -> Sequence[Result]:
    shape, weight, element = query.shape(0), query.shape(1), query.element(0)
    rank = _rank(shape, weight)
    if rank is None:
        return [Inferred(None, element)]
    spatial = rank - 2
    window, kernel = Window.of(query, spatial), _kernel(query, weight, spatial)
    channels = None if weight is None else weight[1] * query.int_attr("group")
    batch = None if shape is None else shape[0]
    given = query.ints_attr("output_shape")
    extra = query.ints_attr("output_padding") or (0,) * spatial
    if given:
        return [Inferred([batch, channels, *(DimExpr.of(dim) for dim in given[-spatial:])], element)]
    if shape is None or kernel is None:
        return [Inferred([batch, channels, *[None] * spatial], element)]
    dims: list[DimExpr] = []
    for axis, dim in enumerate(shape[2:]):
        if window.auto_pad.startswith("SAME"):
            dims.append(dim * window.strides[axis])
            continue
        extent = (kernel[axis] - 1) * window.dilations[axis] + 1
        pads = window.begins[axis] + window.ends[axis]
        dims.append((dim - 1) * window.strides[axis] + extra[axis] + extent - pads)
    return [Inferred([batch, channels, *dims], element)]


def _pool(query: OpQuery) -> Sequence[Result]:
    shape, kernel = query.shape(0), query.ints_attr("kernel_shape") or ()
    rank = len(kernel) + 2
    if shape is None:
        dims: Sequence[DimExpr | None] = [None] * rank
    elif len(shape) != rank:
        raise Impossible(f"input {text(shape)} has rank {len(shape)}; kernel_shape expects {rank}")
    else:
        window, ceil_mode = Window.of(query, len(kernel)), query.int_attr("ceil_mode", 0) != 0
        sizes = [DimExpr.of(size) for size in kernel]
        spatial = [
            window.output(axis, dim, sizes[axis], clips=True, ceil_mode=ceil_mode)
            for axis, dim in enumerate(shape[2:])
        ]
        dims = [*shape[:2], *spatial]
    return [Inferred(dims, query.element(0)), Inferred(dims, i64)]


def _global_pool(query: OpQuery) -> Sequence[Result]:
    shape = query.shape(0)
    if shape is None:
        return [Inferred(None, query.element(0))]
    return [Inferred([*shape[:2], *[ONE] * (len(shape) - 2)], query.element(0))]


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.ConvOp: conv_rule(1, 0),
    onnx.ConvIntegerOp: conv_rule(1, i32),
    onnx.QLinearConvOp: conv_rule(3, 7),
    onnx.ConvTransposeOp: _conv_transpose,
    onnx.MaxPoolOp: _pool,
    onnx.AveragePoolOp: _pool,
    onnx.LpPoolOp: _pool,
    onnx.GlobalAveragePoolOp: _global_pool,
    onnx.GlobalMaxPoolOp: _global_pool,
    onnx.GlobalLpPoolOp: _global_pool,
}
