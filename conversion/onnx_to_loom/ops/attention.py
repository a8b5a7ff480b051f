"""Attention as one kernel: scores, softmax and weighted values of a block of queries at a time.

Forms without a kernel here (half-width floats, sliding windows, a per-batch number of valid keys, the scores
as an output) are computed as the standard's function body says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType, i1
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.attention_loops import (
    SIZES,
    TILES_PER_BLOCK,
    AttentionForm,
    AttentionLoops,
)
from onnxloom.conversion.onnx_to_loom.builder import (
    KernelBuilder,
    buffer_element,
    index_value,
    rank_of,
    ranked,
)
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.ops.joining import concatenated
from onnxloom.conversion.onnx_to_loom.products.product_loops import tile_of
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import onnx
from onnxloom.dialects.loom.target import GemmTile
from onnxloom.dialects.onnx.access import bool_attr, float_attr, int_attr, opt_float_attr, opt_int_attr
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO


@dataclass(frozen=True)
class Heads:
    """A tensor of heads, its sizes and where its elements are."""

    value: SSAValue
    batch: SSAValue
    heads: SSAValue
    rows: SSAValue
    columns: SSAValue
    strides: Sequence[SSAValue]
    """Of batch, head and row; columns are contiguous."""


def heads_apart(builder: KernelBuilder, value: SSAValue, sizes: Sequence[SSAValue]) -> Heads:
    """`[batch, head, row, column]`, the order of `sizes`."""
    batch, heads, rows, columns = sizes
    whole = builder.multiply([heads, rows, columns])
    return Heads(value, batch, heads, rows, columns, [whole, builder.multiply([rows, columns]), columns])


def heads_side_by_side(
    builder: KernelBuilder, value: SSAValue, sizes: Sequence[SSAValue], parts: int = 1
) -> Heads:
    """`[batch, row, head, column]`; `sizes` are those of batch, head, row and column.

    With several parts, the first of them in `[batch, row, part, head, column]`.
    """
    batch, heads, rows, columns = sizes
    row = builder.multiply([builder.index(parts), heads, columns])
    return Heads(value, batch, heads, rows, columns, [builder.multiply([rows, row]), columns, row])


@lowering(onnx.AttentionOp)
def lower_attention(op: onnx.AttentionOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Y, and the joined keys and values where they are outputs."""
    q, k, v, mask, past_k, past_v, valid = [*inputs, *[None] * 4][:7]
    assert q is not None and k is not None and v is not None
    tile = attention_tile(op, builder, (q, k, v))
    if valid is not None:
        raise Declined("attention with a number of valid keys has no kernel")
    queries = _heads(op, builder, q, "q_num_heads")
    keys, values = (_heads(op, builder, x, "kv_num_heads") for x in (k, v))
    offset = builder.index(0)
    if past_k is not None and past_v is not None:
        offset = builder.dim(past_k, 2)
        keys = _joined(builder, past_k, keys, op.present_key.type)
        values = _joined(builder, past_v, values, op.present_value.type)
    elif any(_is_used(x) for x in (op.present_key, op.present_value)):
        raise Declined("attention that gives present keys without past ones has no kernel")
    sizes = [queries.batch, queries.heads, queries.rows, values.columns]
    if rank_of(q) == 4:
        y = heads_apart(builder, builder.empty(op.Y.type, sizes), sizes)
    else:
        dims = [queries.batch, queries.rows, builder.multiply([queries.heads, values.columns])]
        y = heads_side_by_side(builder, builder.empty(op.Y.type, dims), sizes)
    made = attend(op, builder, tile, (queries, keys, values, y), mask, offset)
    return [made] if past_k is None else [made, keys.value, values.value]


def attention_tile(op: onnx.AttentionOp, builder: KernelBuilder, factors: Sequence[SSAValue]) -> GemmTile:
    """The tile of the products. Raises Declined for what the kernel does not compute."""
    element = buffer_element(factors[0].type)
    tile = tile_of(builder.kernels.target, element)
    if tile is None or any(buffer_element(x.type) != element for x in factors):
        raise Declined("attention in this element type has no kernel")
    _check_attributes(op, element)
    return tile


def _is_used(result: SSAValue) -> bool:
    return not isinstance(result.type, NoneType)


def _check_attributes(op: onnx.AttentionOp, element: Attribute) -> None:
    """Raises Declined for what the kernel does not compute."""
    if any(int_attr(op, f"{side}_window_size", -1) != -1 for side in ("left", "right")):
        raise Declined("attention within a window has no kernel")
    if len(op.results) > 3 and _is_used(op.results[3]):
        raise Declined("attention that gives its scores has no kernel")
    precision = opt_int_attr(op, "softmax_precision")
    if precision not in (None, 0, ELEMENT_TO_PROTO[element]):
        raise Declined("attention with a softmax in another type has no kernel")


def _heads(op: onnx.AttentionOp, builder: KernelBuilder, value: SSAValue, attribute: str) -> Heads:
    dims = builder.dims(value)
    if len(dims) == 4:
        return heads_apart(builder, value, dims)
    count = opt_int_attr(op, attribute)
    if len(dims) != 3 or not count or count < 1:
        raise Declined("operands of attention have rank 4, or rank 3 and a number of heads")
    width = builder.static_size(dims[2], "the width of the heads")
    if width % count:
        raise Declined(f"rows of {width} elements are not {count} heads")
    sizes = [dims[0], builder.index(count), dims[1], builder.index(width // count)]
    return heads_side_by_side(builder, value, sizes)


def _joined(builder: KernelBuilder, past: SSAValue, new: Heads, type_: Attribute) -> Heads:
    """Past keys or values in front of the new ones."""
    if rank_of(new.value) != 4 or rank_of(past) != 4:
        raise Declined("attention with past keys and operands of rank 3 has no kernel")
    if buffer_element(past.type) != buffer_element(new.value.type):
        raise Declined("past keys of another element type have no kernel")
    shape = [DYNAMIC_INDEX if (d := index_value(x)) is None else d for x in builder.dims(new.value)]
    shape[2] = DYNAMIC_INDEX
    joined: Attribute = type_
    if not isinstance(type_, TensorType):
        joined = TensorType(ranked(new.value.type, "an operand").element_type, shape)
    for axis in (0, 1, 3):
        message = f"past keys or values differ from the new ones in dim {axis}"
        refuse_where(builder, builder.dim(past, axis), "ne", builder.dim(new.value, axis), message)
    value = concatenated(builder, [past, new.value], 2, ranked(joined, "a result"))
    return heads_apart(builder, value, [new.batch, new.heads, builder.dim(value, 2), new.columns])


def _check_sizes(builder: KernelBuilder, q: Heads, k: Heads, v: Heads) -> None:
    """Refuses, when the plan is made, operands that do not fit each other."""
    for a, b, what in (
        (q.batch, k.batch, "queries and keys differ in their batch"),
        (q.batch, v.batch, "queries and values differ in their batch"),
        (k.heads, v.heads, "keys and values differ in their heads"),
        (k.rows, v.rows, "keys and values differ in number"),
        (q.columns, k.columns, "queries and keys differ in width"),
    ):
        refuse_where(builder, a, "ne", b, what)
    heads = index_value(q.heads), index_value(k.heads)
    if None in heads or not heads[1] or (heads[0] or 0) % heads[1]:
        raise Declined("the query heads are not a known multiple of the key heads")


def attend(
    op: onnx.AttentionOp,
    builder: KernelBuilder,
    tile: GemmTile,
    operands: tuple[Heads, Heads, Heads, Heads],
    mask: SSAValue | None,
    offset: SSAValue,
) -> SSAValue:
    """Q, K, V and an empty Y: Y, filled. The first query stands at `offset` among the keys."""
    q, k, v, y = operands
    _check_sizes(builder, q, k, v)
    element = buffer_element(q.value.type)
    value_width, depth = index_value(v.columns), index_value(q.columns)
    scale = opt_float_attr(op, "scale")
    if scale is None:
        scale = 1.0 / math.sqrt(builder.static_size(q.columns, "the width of a head") or 1)
    elif depth == 0:
        raise Declined("heads of width 0")
    mask_sizes = [] if mask is None else _mask_sizes(builder, mask, q, k, element)
    form = AttentionForm(
        element,
        tile,
        scale,
        float_attr(op, "softcap", 0.0),
        None if mask is None else ranked(mask.type, "the mask").element_type,
        bool_attr(op, "is_causal", False),
        None if value_width is None or value_width % tile.lanes else value_width // tile.lanes,
        v.strides[2] is not v.columns,
    )
    ins = [q.value, k.value, v.value, *([] if mask is None else [mask])]
    outs = [y.value, *_scratch(builder, form, k, v)]
    body = KernelBody(
        "attention",
        [buffer_element(x.type) for x in ins],
        [element] * len(outs),
        SIZES + len(mask_sizes),
    )
    AttentionLoops(body, form).write()
    group = builder.index((index_value(q.heads) or 0) // (index_value(k.heads) or 1))
    sizes = [q.batch, k.heads, group, q.rows, k.rows, q.columns, v.columns, offset]
    sizes += [stride for heads in (q, k, v, y) for stride in heads.strides]
    return builder.launch(body, ins, outs, [*sizes, *mask_sizes])[0]


def _scratch(builder: KernelBuilder, form: AttentionForm, k: Heads, v: Heads) -> list[SSAValue]:
    """Scores of a block of queries, packed keys, packed values if needed: for each thread."""

    def whole(size: SSAValue, columns: int) -> SSAValue:
        width = builder.index(columns)
        panels = builder.insert(arith.CeilDivSIOp(size, width)).results[0]
        return builder.multiply([panels, width])

    rows, line = builder.index(TILES_PER_BLOCK * form.tile.rows), whole(k.rows, form.tile.columns)
    sizes = [[rows, line], [line, k.columns]]
    if form.packs_values:
        sizes.append([k.rows, whole(v.columns, form.value_columns)])
    return [builder.private(form.element, builder.multiply(size)) for size in sizes]


def _mask_sizes(
    builder: KernelBuilder, mask: SSAValue, q: Heads, k: Heads, element: Attribute
) -> list[SSAValue]:
    """Strides of batch, head and row, 0 where the mask is broadcast, and the keys it covers.

    Keys beyond the last one it covers are masked.
    """
    kind = ranked(mask.type, "the mask").element_type
    if kind != i1 and buffer_element(mask.type) != element:
        raise Declined("an attention mask of another element type has no kernel")
    rank = rank_of(mask)
    if not 2 <= rank <= 4:
        raise Declined("an attention mask has rank 2 to 4")
    dims = builder.dims(mask)
    covered = dims[-1]
    if index_value(covered) == 1 and index_value(k.rows) != 1:
        raise Declined("a mask of one key")
    refuse_where(builder, covered, "sgt", k.rows, "an attention mask covers more keys than there are")
    strides: list[SSAValue] = []
    for axis, expected in zip((-4, -3, -2), (q.batch, q.heads, q.rows), strict=True):
        if -axis > rank:
            strides.append(builder.index(0))
            continue
        strides.append(_mask_stride(builder, dims, axis, expected))
    return [*strides, covered]


def _mask_stride(builder: KernelBuilder, dims: Sequence[SSAValue], axis: int, expected: SSAValue) -> SSAValue:
    dim, natural = dims[axis], builder.multiply(dims[axis + 1 :])
    if index_value(dim) == 1:
        return builder.index(0)
    known = index_value(dim) is not None and index_value(dim) == index_value(expected)
    if dim is expected or known:
        return natural
    one, zero = builder.index(1), builder.index(0)
    is_one = builder.insert(arith.CmpiOp(dim, one, "eq")).results[0]
    fits = builder.insert(arith.SelectOp(is_one, expected, dim)).results[0]
    refuse_where(builder, fits, "ne", expected, f"dim {axis} of an attention mask does not fit the scores")
    return builder.insert(arith.SelectOp(is_one, zero, natural)).results[0]
