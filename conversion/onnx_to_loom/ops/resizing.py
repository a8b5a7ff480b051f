"""Resize: one axis after the other, as all its interpolations are separable. Axes stand in any order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32
from xdsl.ir import Attribute, Block, Region, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    program_constant,
    rank_of,
    ranked,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.moving.copying import word_type
from onnxloom.conversion.onnx_to_loom.ops.views import normalized
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.resampling.axis_passes import Pass, run_pass
from onnxloom.conversion.onnx_to_loom.resampling.coordinates import CROP, TRANSFORMS
from onnxloom.conversion.onnx_to_loom.resampling.elements import Elements
from onnxloom.conversion.onnx_to_loom.resampling.replicating import repeats, replicated
from onnxloom.conversion.onnx_to_loom.resampling.taps import Filter, Resized, tap_tables
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_empty, refuse_other_count
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.loom.resize_space import RESULTS_PER_AXIS
from onnxloom.dialects.onnx.access import float_attr, int_attr, ints_attr, str_attr
from onnxloom.dialects.onnx.semantics.scalars import is_float, storage_type


@lowering(onnx.ResizeOp)
def lower_resize(op: onnx.ResizeOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Nearest for any element type, linear and cubic for numbers."""
    data, roi, scales, sizes = [*inputs, None, None, None][:4]
    target = scales if sizes is None else sizes
    assert data is not None
    if target is None:
        raise Declined("Resize without scales and sizes has no kernel")
    rank = rank_of(data)
    axes = normalized(ints_attr(op, "axes") or range(rank), rank)
    rule = _filter(op)
    policy = str_attr(op, "keep_aspect_ratio_policy")
    crops = rule.transform == CROP
    factors = _factors(program_constant(target), shape_of(data), axes, policy)
    if not crops and all(factor == 1.0 for factor in factors):
        return [data]
    times = repeats(rule, factors, axes, rank)
    if times is not None:
        return [replicated(builder, data, times, ranked(op.results[0].type, "the result"))]
    if crops and roi is not None:
        refuse_other_count(builder, roi, 2 * len(axes), "roi")
    space = builder.insert(loom.ResizeSpaceOp.make(data, target, axes, policy, rule.reach)).results
    resize = _Resize(op, rule, roi, len(axes), converts=not crops and None in factors)
    value = resize.begun(builder, data)
    todo = [place for place in _order(factors) if crops or factors[place] != 1.0]
    for place in todo:
        row = space[RESULTS_PER_AXIS * place : RESULTS_PER_AXIS * (place + 1)]
        if crops or factors[place] is not None:
            value = resize.along(builder, value, axes[place], place, row, place == todo[-1])
        else:
            value = resize.where_needed(builder, value, axes[place], place, row)
    return [resize.finished(builder, value)]


def _filter(op: onnx.ResizeOp) -> Filter:
    mode, transform = str_attr(op, "mode"), str_attr(op, "coordinate_transformation_mode")
    antialias = bool(int_attr(op, "antialias"))
    if mode not in ("nearest", "linear", "cubic") or transform not in TRANSFORMS:
        raise Declined(f"Resize of mode {mode} with {transform} coordinates has no kernel")
    if antialias and mode == "nearest":
        raise Declined("Resize of mode nearest has no filter against aliasing")
    return Filter(
        mode,
        transform,
        str_attr(op, "nearest_mode"),
        float_attr(op, "cubic_coeff_a"),
        antialias,
        # All that linear interpolation can lose is the weight of the element that is repeated at the border.
        bool(int_attr(op, "exclude_outside")) and (mode == "cubic" or antialias),
    )


def _factors(
    target: np.ndarray[Any, Any] | None, shape: Sequence[int], axes: Sequence[int], policy: str
) -> list[float | None]:
    """The factor of each axis; None where it is known when the plan is made."""
    if target is None or target.size != len(axes):
        return [None] * len(axes)
    flat = target.reshape(-1)
    if flat.dtype.kind == "f":
        return [float(scale) for scale in flat]
    if policy != "stretch":
        return [None] * len(axes)
    pairs = [(shape[axis], int(size)) for axis, size in zip(axes, flat, strict=True)]
    return [None if dim in (0, DYNAMIC_INDEX) else size / dim for dim, size in pairs]


def _order(factors: Sequence[float | None]) -> list[int]:
    """Places of the axes in the order of the passes.

    What becomes smaller goes first, so that later passes have less to read. Along the last axis elements are
    gathered, which is dear: it comes last of those that become smaller, first of those that grow.
    """
    shrinks = [place for place, factor in enumerate(factors) if factor is not None and factor < 1.0]
    grows = [place for place in range(len(factors)) if place not in shrinks]
    return [*shrinks, *reversed(grows)]


class _Resize:
    """The passes over the axes of one tensor."""

    def __init__(self, op: onnx.ResizeOp, rule: Filter, roi: SSAValue | None, axes: int, converts: bool):
        """`converts`: elements are converted before the first and after the last pass, not in them."""
        self._rule, self._roi, self._axes, self._converts = rule, roi, axes, converts
        self._result = ranked(op.results[0].type, "the result")
        element = self._result.element_type
        self._elements = None if rule.mode == "nearest" else Elements(element)
        outside = float_attr(op, "extrapolation_value")
        self._outside = _fill(element, outside) if rule.transform == CROP else None
        if self._elements is None and self._outside is None:
            word_type(self._result)

    def begun(self, builder: KernelBuilder, data: SSAValue) -> SSAValue:
        """The data as the first pass reads it."""
        elements = self._elements
        if elements is None or not self._converts or elements.element == elements.compute:
            return data
        type_ = TensorType(elements.compute, shape_of(data))
        return builder.map("widen", [data], [type_], lambda s, x: [elements.widened(s, x[0])])[0]

    def finished(self, builder: KernelBuilder, value: SSAValue) -> SSAValue:
        """What the last pass wrote, as the result."""
        elements = self._elements
        if elements is None or not self._converts or elements.element == elements.compute:
            return value
        type_ = TensorType(elements.element, shape_of(value))
        return builder.map("narrow", [value], [type_], lambda s, x: [elements.stored(s, x[0])])[0]

    def where_needed(
        self, builder: KernelBuilder, data: SSAValue, axis: int, place: int, row: Sequence[SSAValue]
    ) -> SSAValue:
        """As `along` if the plan says that the axis changes, else the data."""
        resampled, same = Block(), Block()
        made = self.along(builder.nested(resampled), data, axis, place, row, last=False)
        resampled.add_op(loom.YieldOp.create(operands=[made]))
        inner, dims = builder.nested(same), builder.dims(data)
        view = inner.view(data, [*dims[:axis], row[0], *dims[axis + 1 :]], ranked(made.type, "the result"))
        same.add_op(loom.YieldOp.create(operands=[view]))
        regions = [Region(resampled), Region(same)]
        branches = loom.IfOp.create(operands=[row[3]], result_types=[made.type], regions=regions)
        return builder.insert(branches).results[0]

    def along(
        self,
        builder: KernelBuilder,
        data: SSAValue,
        axis: int,
        place: int,
        row: Sequence[SSAValue],
        last: bool,
    ) -> SSAValue:
        """One axis resampled; the last pass that converts writes what is stored."""
        size, factor, taps, _ = row
        dim = builder.dim(data, axis)
        refuse_empty(builder, dim, f"dim {axis} is 0: there is nothing to resample", unless=size)
        resized = Resized(dim, size, factor, taps, self._roi, (place, self._axes + place))
        elements = self._elements
        tables = tap_tables(builder, resized, self._rule, f32 if elements is None else elements.compute)
        source = result = ranked(data.type, "the operand").element_type
        if elements is not None:
            result = elements.element if last and not self._converts else elements.compute
        shape = list(shape_of(data))
        shape[axis] = self._result.get_shape()[axis]
        type_ = TensorType(result, shape)
        if elements is None and self._outside is None:
            rule = Pass(word_type(data.type), word_type(type_), 1)
        else:
            storage = storage_type(source), storage_type(result)
            rule = Pass(*storage, self._rule.taps, elements, self._outside)
        return run_pass(builder, data, axis, tables, rule, type_)


def _fill(element: Attribute, value: float) -> float | int:
    """What stands for elements outside of the source. Raises Declined for elements that are no numbers."""
    elements = Elements(element)
    if is_float(elements.storage):
        return value
    low, high = elements.limits
    return 0 if math.isnan(value) else int(min(max(np.rint(value), low), high))
