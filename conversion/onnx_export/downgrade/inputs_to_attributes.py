"""Constant inputs that older versions take as attributes."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto

from onnxloom.conversion.onnx_export.downgrade.registry import (
    Downgrade,
    Refused,
    downgrade,
    drop_inputs,
    input_name,
    int_of,
)
from onnxloom.conversion.onnx_import.upgrade.attributes_to_inputs import REDUCTIONS
from onnxloom.conversion.onnx_import.upgrade.registry import put, take
from onnxloom.dialects.onnx.dtypes import proto_of_element


@downgrade("Squeeze", "Unsqueeze", below=13)
def axes_attribute(node: NodeProto, context: Downgrade) -> None:
    name = input_name(node, 1)
    if name:
        put(node, "axes", context.ints(name, "axes"))
    drop_inputs(node, 1)


@downgrade("ReduceSum", below=13)
@downgrade(*REDUCTIONS, below=18)
def reduction_axes(node: NodeProto, context: Downgrade) -> None:
    name = input_name(node, 1)
    axes = context.ints(name, "axes") if name else []
    is_copy = take(node, "noop_with_empty_axes")
    if not axes and is_copy is not None and is_copy.i:
        raise Refused("it reduces no axis")
    if axes:
        put(node, "axes", axes)
    drop_inputs(node, 1)


@downgrade("Split", below=18)
def equal_parts(node: NodeProto, context: Downgrade) -> None:
    """Before 18, parts without given sizes are equal; later ones may end with a smaller part."""
    count = take(node, "num_outputs")
    if count is None or input_name(node, 1):
        return
    dims, axis = context.dims(node.input[0]), int_of(node, "axis", 0)
    size = dims[axis] if dims is not None and -len(dims) <= axis < len(dims) else -1
    if (size >= 0 and size % count.i) or (size < 0 and context.original >= 18):
        raise Refused("its parts may be unequal")


@downgrade("Split", below=13)
def split_attribute(node: NodeProto, context: Downgrade) -> None:
    name = input_name(node, 1)
    if name:
        put(node, "split", context.ints(name, "split"))
    drop_inputs(node, 1)


@downgrade("Pad", below=18)
def pad_axes(node: NodeProto, context: Downgrade) -> None:
    if input_name(node, 3):
        raise Refused("it pads named axes")


@downgrade("Pad", below=11)
def pad_attributes(node: NodeProto, context: Downgrade) -> None:
    put(node, "pads", context.ints(node.input[1], "pads"))
    value = input_name(node, 2)
    if value:
        put(node, "value", context.number(value, "constant_value"))
    drop_inputs(node, 1)


@downgrade("Slice", below=10)
def slice_attributes(node: NodeProto, context: Downgrade) -> None:
    steps = input_name(node, 4)
    if steps and any(step != 1 for step in context.ints(steps, "steps")):
        raise Refused("it has steps")
    put(node, "starts", context.ints(node.input[1], "starts"))
    put(node, "ends", context.ints(node.input[2], "ends"))
    axes = input_name(node, 3)
    if axes:
        put(node, "axes", context.ints(axes, "axes"))
    drop_inputs(node, 1)


@downgrade("TopK", below=10)
def topk_attribute(node: NodeProto, context: Downgrade) -> None:
    put(node, "k", context.ints(node.input[1], "k")[0])
    drop_inputs(node, 1)


@downgrade("Reshape", below=5)
def reshape_attribute(node: NodeProto, context: Downgrade) -> None:
    put(node, "shape", context.ints(node.input[1], "shape"))
    drop_inputs(node, 1)


@downgrade("Clip", below=11)
def clip_attributes(node: NodeProto, context: Downgrade) -> None:
    """A bound that is left out is infinite; the older default is the largest number."""
    for index, (name, open_bound) in enumerate((("min", -np.inf), ("max", np.inf)), start=1):
        bound = input_name(node, index)
        put(node, name, context.number(bound, name) if bound else float(open_bound))
    drop_inputs(node, 1)


@downgrade("Dropout", below=12)
def dropout_attribute(node: NodeProto, context: Downgrade) -> None:
    training = input_name(node, 2)
    if training and context.number(training, "training_mode"):
        raise Refused("it is in training mode")
    ratio = input_name(node, 1)
    put(node, "ratio", context.number(ratio, "ratio") if ratio else 0.5)
    take(node, "seed")
    drop_inputs(node, 1)


@downgrade("Dropout", below=10)
def dropout_mask(node: NodeProto, context: Downgrade) -> None:
    if len(node.output) > 1:
        raise Refused("its mask is boolean")


@downgrade("Dropout", "BatchNormalization", below=7)
def is_test(node: NodeProto, context: Downgrade) -> None:
    put(node, "is_test", 1)


@downgrade("DFT", below=20)
def dft_attribute(node: NodeProto, context: Downgrade) -> None:
    name = input_name(node, 2)
    axis = context.ints(name, "axis")[0] if name else -2
    dims = context.dims(node.input[0])
    if axis < 0 and dims is None:
        raise Refused("its axis counts from the end of an unknown rank")
    put(node, "axis", axis + len(dims) if axis < 0 and dims is not None else axis)
    drop_inputs(node, 2)


@downgrade("CastLike", below=15)
def as_cast(node: NodeProto, context: Downgrade) -> None:
    from onnxloom.conversion.onnx_import.types import element_of

    like = context.type_of(node.input[1])
    element = None if like is None else element_of(like)
    if element is None:
        raise Refused("the type it casts to is not known")
    del node.attribute[:]
    node.op_type = "Cast"
    put(node, "to", proto_of_element(element))
    drop_inputs(node, 1)


@downgrade("Cast", below=6)
def cast_by_name(node: NodeProto, context: Downgrade) -> None:
    to = int_of(node, "to", 1)
    put(node, "to", TensorProto.DataType.Name(to))  # pyright: ignore[reportArgumentType]


@downgrade("Shape", below=15)
def shape_slice(node: NodeProto, context: Downgrade) -> None:
    """A part of a shape has no older form as one node."""
    if int_of(node, "start", 0) != 0 or any(a.name == "end" for a in node.attribute):
        raise Refused("it gives a part of a shape")
