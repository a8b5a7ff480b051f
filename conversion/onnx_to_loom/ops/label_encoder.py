"""LabelEncoder of numbers to numbers: each element is looked up among the keys.

NaN is the same key as NaN, and 0.0 as -0.0. Of a key that is listed twice the first value counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.conversion.onnx_to_loom.selection.ordered_keys import ordered_array, ordered_key
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import attr, float_attr, floats_attr, int_attr, ints_attr
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.dialects.onnx.semantics.scalars import Scalar

_BLOCK = 1024
"""Elements that are a task."""

Numbers = npt.NDArray[Any]


Find = Callable[[KernelBody, Scalar], Scalar]
"""The place in the table of values of an element; the last place is that of the default."""


@lowering(onnx.LabelEncoderOp)
def lower_label_encoder(
    op: onnx.LabelEncoderOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    (data,) = inputs
    assert data is not None
    type_ = ranked(op.Y.type, "the result")
    element = ranked(data.type, "the operand").element_type
    buffer_element(data.type)
    buffer_element(type_)
    keys = _numbers(op, "keys").astype(ELEMENT_TO_DTYPE[element])
    values = _numbers(op, "values").astype(ELEMENT_TO_DTYPE[type_.element_type])
    if len(keys) != len(values) or not len(keys):
        raise Declined("LabelEncoder without keys, or with another number of values, has no kernel")
    _, first = np.unique(keys, return_index=True)
    default = _default(op).astype(values.dtype).reshape(1)
    plan = _dense if _is_dense(keys) else _searched
    table, sorted_keys, find = plan(keys[first], values[first], default, element)
    ins = [data, builder.constant(table), builder.constant(sorted_keys)]
    k = builder.kernel("label_encoder", ins, [type_], 1)
    s, count, block = k.scalars, k.sizes[0], k.index(_BLOCK)
    with k.tasks(s.emit(arith.CeilDivSIOp(count, block))) as part:
        begin = k.mul(part, block)
        with k.loop(s.minimum(block, k.sub(count, begin)), parallel=True) as i:
            place = find(k, k.load(k.ins[0], k.add(begin, i)))
            k.store(k.load(k.ins[1], place), k.outs[0], k.add(begin, i))
    dims = builder.dims(data)
    return builder.launch(k, ins, [builder.empty(type_, dims)], [builder.multiply(dims)])


def _is_dense(keys: Numbers) -> bool:
    """Whether most integers between the smallest and the largest key are keys."""
    return keys.dtype.kind == "i" and int(keys.max()) - int(keys.min()) < 4 * len(keys) + 4096


def _dense(
    keys: Numbers, values: Numbers, default: Numbers, element: Attribute
) -> tuple[Numbers, Numbers, Find]:
    """A value for each integer from the smallest key on."""
    low = int(keys[0])
    table = np.full(int(keys[-1]) - low + 2, default[0], values.dtype)
    table[keys.astype(np.int64) - low] = values
    last = len(table) - 1

    def find(k: KernelBody, value: Scalar) -> Scalar:
        s = k.scalars
        place = s.sub(s.int_to_int(value, i64, False), s.const(low, i64))
        inside = s.cmp("lt", place, s.const(last, i64), unsigned=True)
        return k.to_index(s.select(inside, place, s.const(last, i64)))

    return table, keys, find


def _searched(
    keys: Numbers, values: Numbers, default: Numbers, element: Attribute
) -> tuple[Numbers, Numbers, Find]:
    """Keys in order, as many as a power of two: the last one is repeated, and found where it stands first."""
    count = len(keys)
    steps = max(count - 1, 0).bit_length()
    ordered = ordered_array(keys)
    padded = np.concatenate([ordered, np.full((1 << steps) - count, ordered[-1], ordered.dtype)])

    def find(k: KernelBody, value: Scalar) -> Scalar:
        s = k.scalars
        key, place = ordered_key(s, value, element), k.index(0)
        for step in reversed(range(steps)):
            beyond = k.add(place, k.index(1 << step))
            smaller = s.cmp("lt", k.load(k.ins[2], k.sub(beyond, k.index(1))), key)
            place = s.select(smaller, beyond, place)
        found = s.cmp("eq", k.load(k.ins[2], place), key)
        return s.select(found, place, k.index(count))

    return np.concatenate([values, default]), padded, find


def _numbers(op: onnx.LabelEncoderOp, what: str) -> Numbers:
    """The keys or values. Raises Declined for strings."""
    tensor = constant_value(attr(op, f"{what}_tensor"))
    if tensor is not None and tensor.dtype.kind in "iuf":
        return tensor.reshape(-1)
    floats, ints = floats_attr(op, f"{what}_floats"), ints_attr(op, f"{what}_int64s")
    if floats:
        return np.array(floats, np.float32)
    if ints:
        return np.array(ints, np.int64)
    raise Declined(f"LabelEncoder with {what} that are no numbers has no kernel")


def _default(op: onnx.LabelEncoderOp) -> Numbers:
    """What becomes of a key that is not listed."""
    tensor = constant_value(attr(op, "default_tensor"))
    if attr(op, "values_tensor") is not None and tensor is not None and tensor.size == 1:
        return tensor
    if attr(op, "values_floats") is not None:
        return np.array(float_attr(op, "default_float", -0.0))
    if attr(op, "values_int64s") is not None:
        return np.array(int_attr(op, "default_int64", -1))
    raise Declined("LabelEncoder without a default value of its type has no kernel")
