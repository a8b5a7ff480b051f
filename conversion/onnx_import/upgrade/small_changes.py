"""Ops that changed a default, a name or the kind of an attribute."""

from __future__ import annotations

from onnx import NodeProto, TensorProto

from onnxloom.conversion.onnx_import.upgrade.registry import Upgrade, has, put, take, upgrade


@upgrade("Cast", to=6)
def cast_to_number(node: NodeProto, context: Upgrade) -> None:
    """`to="FLOAT"` -> `to=1`."""
    to = take(node, "to")
    if to is None:
        raise ValueError("attribute to is missing")
    put(node, "to", TensorProto.DataType.Value(to.s.decode("ascii", "replace").upper()) if to.s else to.i)


@upgrade("Concat", to=4)
def concat_axis(node: NodeProto, context: Upgrade) -> None:
    if not has(node, "axis"):
        put(node, "axis", 1)


@upgrade("Selu", to=6)
def selu_constants(node: NodeProto, context: Upgrade) -> None:
    take(node, "consumed_inputs")
    for name, value in (("alpha", 1.6732), ("gamma", 1.0507)):
        if not has(node, name):
            put(node, name, value)


@upgrade("LpPool", "GlobalLpPool", to=2)
def integer_norm(node: NodeProto, context: Upgrade) -> None:
    found = take(node, "p")
    if found is not None:
        put(node, "p", int(found.f) if found.f else found.i)


@upgrade("RNN", "GRU", "LSTM", to=7)
def no_output_sequence(node: NodeProto, context: Upgrade) -> None:
    """Which outputs exist is said by naming them."""
    take(node, "output_sequence")


@upgrade("Scatter", to=11)
def scatter_elements(node: NodeProto, context: Upgrade) -> None:
    node.op_type = "ScatterElements"


@upgrade("RoiAlign", to=16)
def roi_align_coordinates(node: NodeProto, context: Upgrade) -> None:
    put(node, "coordinate_transformation_mode", "output_half_pixel")


@upgrade("LabelEncoder", to=2, domain="ai.onnx.ml")
def label_encoder_maps(node: NodeProto, context: Upgrade) -> None:
    """Classes by index -> keys and values; the input's type says in which direction."""
    found = take(node, "classes_strings")
    classes = [] if found is None else list(found.strings)
    element = context.element(node.input[0])
    if element == TensorProto.STRING:
        put(node, "keys_strings", classes)
        put(node, "values_int64s", list(range(len(classes))))
        take(node, "default_string")
    elif element == TensorProto.INT64:
        put(node, "keys_int64s", list(range(len(classes))))
        put(node, "values_strings", classes)
        take(node, "default_int64")
    else:
        raise context.unsupported("the type of the input of LabelEncoder-1 is not known")
