"""OneHotEncoder of numbers: each element is compared with all categories.

With `zeros` 0 an element that is no category is an error, found when the stretch has run. With 1 the
comparison may become an elementwise op before it comes here (`transforms/patterns/machine_learning`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, ranked
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.kernel_body import KernelBody
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.dialects.onnx.semantics.conversion import float_to_int
from onnxloom.dialects.onnx.semantics.scalars import Scalar, is_float

_MESSAGE = "value {1} is none of the categories"


@lowering(onnx.OneHotEncoderOp)
def lower_one_hot_encoder(
    op: onnx.OneHotEncoderOp, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """f32 `[.., categories]`."""
    (x,) = inputs
    assert x is not None
    element, categories = buffer_element(x.type), ints_attr(op, "cats_int64s")
    if not categories:
        raise Declined("OneHotEncoder of strings has no kernel")
    refuses = not int_attr(op, "zeros", 1)
    table = builder.constant(np.array(categories, np.int64))
    k = KernelBody("one_hot_encoder", [element, i64], [f32, i64] if refuses else [f32], 2)
    unknown = _write(k)
    dims, count = builder.dims(x), builder.index(len(categories))
    hot = builder.empty(ranked(op.results[0].type, "the result"), [*dims, count])
    sizes = [builder.multiply(dims), count]
    if not refuses:
        return builder.launch(k, [x, table], [hot], sizes)
    for place, word in enumerate(unknown):
        k.store(word, k.outs[1], k.index(place))
    status = builder.empty(TensorType(i64, [2]), [builder.index(2)])
    hot, status = builder.launch(k, [x, table], [hot, status], sizes)
    builder.insert(loom.CheckOp(status, _MESSAGE))
    return [hot]


def _write(k: KernelBody) -> Sequence[Scalar]:
    """One row per element; gives whether one is no category, and the first such."""
    s, (size, count) = k.scalars, k.sizes
    one, zero = s.const(1.0, f32), s.const(0.0, f32)
    no, yes = s.const(0, i64), s.const(1, i64)

    def row(i: Scalar, acc: Sequence[Scalar]) -> Sequence[Scalar]:
        value = _integer(k, k.load(k.ins[0], i))

        def category(j: Scalar, found: Sequence[Scalar]) -> Sequence[Scalar]:
            same = s.cmp("eq", value, k.load(k.ins[1], j))
            k.store(s.select(same, one, zero), k.outs[0], k.at(i, count, j))
            return [s.select(same, yes, found[0])]

        (found,) = k.reduce(count, [no], category, parallel=True)
        first = s.and_(s.cmp("eq", found, no), s.cmp("eq", acc[0], no))
        return [s.select(first, yes, acc[0]), s.select(first, value, acc[1])]

    return k.reduce(size, [no, no], row)


def _integer(k: KernelBody, value: Scalar) -> Scalar:
    """An element as an integer, as a cast makes it."""
    s = k.scalars
    if is_float(value.type):
        return float_to_int(s, s.widen(value), i64, False)
    return s.int_to_int(value, i64, False)
