"""How is a recurrent op put together? One matrix product for X, then one kernel per direction.

`X @ W` of all time steps and directions is an ordinary product; the kernels of `recurrent_loops.py` walk
the time steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, UnrankedTensorType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    index_value,
    shape_of,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.plan_known import is_plan_known
from onnxloom.conversion.onnx_to_loom.products.gemm import Product, build_gemm
from onnxloom.conversion.onnx_to_loom.products.product_loops import tile_of
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_buffers import (
    Buffers,
    Layout,
    Quantized,
    WordCorrection,
)
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_cells import Cell
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_loops import RecurrentLoops
from onnxloom.conversion.onnx_to_loom.value_checks import check_range, refuse_where
from onnxloom.dialects import loom
from onnxloom.dialects.onnx.semantics.scalars import compute_type


@dataclass(frozen=True)
class Recurrence:
    """A recurrent op in terms of program-level tensors, None for what it omits."""

    name: str
    gates: int
    hidden: int
    batch_first: bool
    backwards: Sequence[bool]
    """One entry per direction."""
    cells: Sequence[Cell]
    """What each direction computes."""
    x: SSAValue
    w: SSAValue
    r: SSAValue
    bias: SSAValue | None
    lengths: SSAValue | None
    initial: Sequence[SSAValue | None]
    """One entry per state."""
    peepholes: SSAValue | None
    wants_y: bool
    scales: Scales | None = None
    """Where weights and activations are quantized; X and W, R then hold whole numbers as floats."""
    words: Words | None = None
    """Where R is multiplied as bytes, four by four; X and W are then multiplied already."""


@dataclass(frozen=True)
class Scales:
    """The scales of a quantized recurrent op; X is already quantized."""

    x: SSAValue
    w: SSAValue
    r: SSAValue
    by_column: bool
    """One scale per direction, gate and hidden unit; else one per direction."""


@dataclass(frozen=True)
class Words:
    """The products of a recurrent op whose weights are words of four bytes."""

    projected: SSAValue
    """X @ W of all time steps, whole numbers as floats."""
    weights: Callable[[Layout], SSAValue]
    """R, `[direction, gate, panel, ceil(hidden / 4), columns]`."""
    sums: SSAValue
    """Per direction, gate and hidden unit the sum of the column of R; f32."""


def build_recurrence(builder: KernelBuilder, op: Recurrence) -> Sequence[SSAValue | None]:
    """Y (None if not wanted) and the final states.

    Raises:
        Declined: the element type has no kernel, or the number of hidden units is not known.
    """
    element = buffer_element(op.w.type)
    if op.words is not None or compute_type(element) == element:
        return _Assembly(builder, op).build()
    return _in_float32(builder, op, element)


def _in_float32(builder: KernelBuilder, op: Recurrence, element: Attribute) -> Sequence[SSAValue | None]:
    """Half-width floats: states stay f32 over all steps, results are rounded once."""

    def widened(value: SSAValue | None) -> SSAValue | None:
        return None if value is None else as_float32(builder, value)

    wide = replace(
        op,
        x=as_float32(builder, op.x),
        w=as_float32(builder, op.w),
        r=as_float32(builder, op.r),
        bias=widened(op.bias),
        initial=[widened(v) for v in op.initial],
        peepholes=widened(op.peepholes),
    )

    def narrowed(value: SSAValue | None) -> SSAValue | None:
        if value is None:
            return None
        type_ = TensorType(element, shape_of(value))
        return builder.map("narrow", [value], [type_], lambda s, x: [s.float_to(x[0], element)])[0]

    return [narrowed(v) for v in _Assembly(builder, wide).build()]


def as_float32(builder: KernelBuilder, value: SSAValue) -> SSAValue:
    """A tensor of half-width floats as f32; at plan time where it is known then."""
    type_ = TensorType(f32, shape_of(value))
    if is_plan_known(value):
        return builder.insert(loom.PackOp(value, "as_float32", {}, type_)).results[0]
    return builder.map("widen", [value], [type_], lambda s, x: [s.widen(x[0])])[0]


class _Assembly:
    """The sizes of one recurrent op, and what is made of them."""

    def __init__(self, builder: KernelBuilder, op: Recurrence):
        self.builder, self.op = builder, op
        self.element = f32 if op.words is not None else buffer_element(op.w.type)
        tile = tile_of(builder.kernels.target, self.element)
        if tile is None:
            raise Declined(f"recurrent kernels do not compute with {self.element}")
        directions = len(op.backwards)
        self.layout = Layout(op.gates, op.hidden, directions, op.batch_first, tile)
        time_axis, batch_axis = (1, 0) if op.batch_first else (0, 1)
        self.time, self.batch = dim_of(builder, op.x, time_axis), dim_of(builder, op.x, batch_axis)
        self.directions, self.hidden = builder.index(directions), builder.index(op.hidden)

    def _as(self, value: SSAValue, *dims: SSAValue) -> SSAValue:
        """The value under the dims the kernel reads it with; checks, at plan time, that it holds them."""
        shape = [DYNAMIC_INDEX if (v := index_value(d)) is None else v for d in dims]
        return self.builder.view(value, dims, TensorType(_element_type(value), shape))

    def _optional(self, what: str, value: SSAValue | None, *dims: SSAValue) -> SSAValue | None:
        """The operand `what` under the dims it must have; refuses others at plan time."""
        if value is None:
            return None
        self._refuse_others(what, value, dims)
        return self._as(value, *dims)

    def _refuse_others(self, what: str, value: SSAValue, dims: Sequence[SSAValue]) -> None:
        for axis, expected in enumerate(dims):
            message = f"dim {axis} of {what} does not fit X, W and hidden_size"
            refuse_where(self.builder, dim_of(self.builder, value, axis), "ne", expected, message)

    def _empty(self, *dims: SSAValue, element: Attribute | None = None) -> SSAValue:
        shape = [DYNAMIC_INDEX if (v := index_value(d)) is None else v for d in dims]
        return self.builder.empty(TensorType(element or self.element, shape), dims)

    def build(self) -> Sequence[SSAValue | None]:
        """All launches; gives Y and the final states."""
        op, builder, layout = self.op, self.builder, self.layout
        states_dims = [self.directions, self.batch, self.hidden]
        y_dims = [self.time, self.directions, self.batch, self.hidden]
        if op.batch_first:
            states_dims = [self.batch, self.directions, self.hidden]
            y_dims = [self.batch, self.time, self.directions, self.hidden]
        per_direction = layout.gates * layout.hidden
        if op.scales is None:  # the weights of quantized ops are checked where they are prepared
            gates, features = builder.index(per_direction), dim_of(builder, op.x, 2)
            self._refuse_others("W", op.w, [self.directions, gates, features])
            self._refuse_others("R", op.r, [self.directions, gates, self.hidden])
        lengths = self._optional("sequence_lens", op.lengths, self.batch)
        if lengths is not None:
            check_range(builder, lengths, self.time, "a sequence length of")
        ins = {
            "projected": self._projected() if op.words is None else op.words.projected,
            "weights": self._recurrence_weights() if op.words is None else op.words.weights(layout),
            "bias": self._optional("B", op.bias, self.directions, builder.index(2 * per_direction)),
            "lengths": lengths,
            **{
                f"initial{i}": self._optional(name, v, *states_dims)
                for i, (name, v) in enumerate(zip(("initial_h", "initial_c"), op.initial, strict=False))
            },
            "peepholes": self._optional("P", op.peepholes, self.directions, builder.index(3 * layout.hidden)),
        }
        outs = {
            **({"y": self._empty(*y_dims)} if op.wants_y else {}),
            **{f"state{i}": self._empty(*states_dims) for i in range(len(op.initial))},
            "gates": self._empty(
                builder.multiply([self.batch, builder.index(per_direction)]),
                element=self.element if op.words is None else i32,
            ),
        }
        if op.scales is not None:
            per_scale = [builder.index(per_direction)] if op.scales.by_column else []
            ins["x_scale"] = op.scales.x
            ins["w_scale"] = self._as(op.scales.w, self.directions, *per_scale)
            ins["r_scale"] = self._as(op.scales.r, self.directions, *per_scale)
            outs["levels"] = self._empty(self.batch, self.hidden)
            outs["scales"] = self._empty(self.batch)
        if op.words is not None:
            ins["sums"] = op.words.sums
            outs["levels"] = self._empty(self.batch, builder.index(-(-op.hidden // 4)), element=i32)
            outs["zeros"] = self._empty(self.batch)
        given = {name: value for name, value in ins.items() if value is not None}
        filled = self._launches(given, outs)
        return [filled.get("y"), *(filled[f"state{i}"] for i in range(len(op.initial)))]

    def _projected(self) -> SSAValue:
        """X @ W of all time steps, `[time, batch (or batch, time), direction * gate * hidden]`."""
        op, builder, layout = self.op, self.builder, self.layout
        x = self._as(op.x, *(dim_of(builder, op.x, axis) for axis in range(3)))
        columns = builder.index(layout.directions * layout.gates * layout.hidden)
        w = self._as(op.w, columns, dim_of(builder, op.w, 2))
        type_ = TensorType(_element_type(op.w), [*shape_of(x)[:2], shape_of(w)[0]])
        return build_gemm(builder, f"{op.name}_inputs", Product(x, w, type_, trans_rhs=True))

    def _recurrence_weights(self) -> SSAValue:
        """R as panels, packed at plan time where it is known then."""
        builder, layout, r = self.builder, self.layout, self.op.r
        dims = [layout.directions, layout.gates, layout.panels, layout.hidden, layout.columns]
        type_ = TensorType(_element_type(r), dims)
        if is_plan_known(r):
            params: dict[str, Attribute] = {
                "gates": IntegerAttr(layout.gates, i64),
                "columns": IntegerAttr(layout.columns, i64),
            }
            return builder.insert(loom.PackOp(r, "recurrent_gates", params, type_)).results[0]
        blocks, hidden = builder.index(layout.directions * layout.gates), builder.index(layout.hidden)
        source = self._as(r, blocks, hidden, hidden)
        k = builder.kernel("pack_recurrent", [source], [type_], 1)
        _write_packing(k, layout, self.element)
        return builder.launch(
            k, [source], [builder.empty(type_, [builder.index(d) for d in dims])], [blocks]
        )[0]

    def _launches(self, ins: dict[str, SSAValue], outs: dict[str, SSAValue]) -> dict[str, SSAValue]:
        """One launch per direction; each fills its part of the outputs."""
        builder, op = self.builder, self.op
        for number, backwards in enumerate(op.backwards):
            k = builder.kernel(op.name, list(ins.values()), [v.type for v in outs.values()], 4)
            self._write(k, list(ins), list(outs), op.cells[number])
            sizes = [self.time, self.batch, builder.index(number), builder.index(int(backwards))]
            results = builder.launch(k, list(ins.values()), list(outs.values()), sizes)
            outs = dict(zip(outs, results, strict=True))
        return outs

    def _quantized(self, buffer: dict[str, SSAValue]) -> Quantized | None:
        if self.op.scales is None:
            return None
        names = ("x_scale", "w_scale", "r_scale", "levels", "scales")
        x, w, r, levels, scales = (buffer[name] for name in names)
        words = None if self.op.words is None else WordCorrection(buffer["zeros"], buffer["sums"])
        return Quantized(x, w, r, self.op.scales.by_column, levels, scales, words)

    def _write(self, k: KernelBody, ins: Sequence[str], outs: Sequence[str], cell: Cell) -> None:
        buffer = {**dict(zip(ins, k.ins, strict=True)), **dict(zip(outs, k.outs, strict=True))}
        states = range(len(self.op.initial))
        buffers = Buffers(
            buffer["projected"],
            buffer["weights"],
            buffer.get("bias"),
            buffer.get("lengths"),
            tuple(buffer.get(f"initial{i}") for i in states),
            buffer.get("peepholes"),
            buffer.get("y"),
            tuple(buffer[f"state{i}"] for i in states),
            buffer["gates"],
            self._quantized(buffer),
        )
        loops = RecurrentLoops(k, self.layout, buffers, index_value(self.batch))
        with loops.steps() as step:
            cell.step(step)


def dim_of(builder: KernelBuilder, value: SSAValue, axis: int) -> SSAValue:
    """One dim of a tensor whose rank may be unknown to its type."""
    if isinstance(value.type, TensorType):
        return builder.dim(value, axis)
    return builder.insert(loom.DimOp(value, axis)).results[0]


def _element_type(value: SSAValue) -> Attribute:
    return cast("TensorType[Attribute] | UnrankedTensorType[Attribute]", value.type).element_type


def _write_packing(k: KernelBody, layout: Layout, element: Attribute) -> None:
    """What the packing function `recurrent_gates` does, for weights that are computed."""
    hidden, columns = k.index(layout.hidden), k.index(layout.columns)
    with k.loop(k.sizes[0]) as block, k.loop(k.index(layout.panels)) as p, k.loop(hidden) as depth:
        first = k.mul(p, columns)
        count = k.scalars.minimum(columns, k.sub(hidden, first))
        target = k.mul(k.at(k.at(block, k.index(layout.panels), p), hidden, depth), columns)
        source = k.add(k.mul(k.at(block, hidden, first), hidden), depth)
        zero = k.scalars.const(0.0, element)
        with k.loop(count) as j:
            k.store(k.load(k.ins[0], k.add(source, k.mul(j, hidden))), k.outs[0], k.add(target, j))
        with k.loop(columns, start=count, parallel=True) as j:
            k.store(zero, k.outs[0], k.add(target, j))
