"""Export writes the opset a model came from where it can, else the lowest that expresses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model
from onnxloom.errors import PassError

Array = np.ndarray[Any, Any]
X = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32)


def one_op(
    op: str,
    opset: int,
    *constants: Array,
    outputs: int = 1,
    element: int = TensorProto.FLOAT,
    **attributes: Any,
) -> ModelProto:
    """A model of one op: its first input is x[2, 3, 4, 4], the others are initializers."""
    names = [f"c{index}" for index in range(len(constants))]
    node = helper.make_node(op, ["x", *names], [f"y{index}" for index in range(outputs)], **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", element, X.shape)],
        [onnx.ValueInfoProto(name=f"y{index}") for index in range(outputs)],
        [numpy_helper.from_array(array, name) for array, name in zip(constants, names, strict=True)],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def ints(*values: int) -> Array:
    return np.array(values, dtype=np.int64)


def floats(*values: float) -> Array:
    return np.array(values, dtype=np.float32)


def opset_of(model: ModelProto) -> int:
    return next(entry.version for entry in model.opset_import if entry.domain == "")


SAME_FORM = [
    one_op("ReduceMean", 13, axes=[1, -1], keepdims=0),
    one_op("ReduceSum", 11, axes=[2]),
    one_op("ReduceMax", 17),
    one_op("Squeeze", 11),
    one_op("Unsqueeze", 11, axes=[0, 2]),
    one_op("Split", 11, axis=1, split=[1, 2], outputs=2),
    one_op("Split", 13, axis=2, outputs=2),
    one_op("Softmax", 11, axis=3),
    one_op("Softmax", 13, axis=1),
    one_op("Pad", 10, pads=[0, 0, 1, 1, 0, 0, 1, 1], value=0.5),
    one_op("Slice", 9, starts=[1], ends=[3], axes=[2]),
    one_op("TopK", 9, k=2, axis=1, outputs=2),
    one_op("Clip", 6, min=-0.5, max=0.5),
    one_op("Dropout", 7, ratio=0.25),
    one_op("Upsample", 7, scales=[1.0, 1.0, 2.0, 2.0]),
    one_op("Upsample", 9, floats(1, 1, 2, 2)),
    one_op("Resize", 10, floats(1, 1, 0.5, 0.5)),
    one_op("Resize", 11, floats(), floats(1, 1, 2, 2), mode="linear"),
    one_op("BatchNormalization", 9, *(floats(1, 2, 3) for _ in range(4))),
    one_op("GlobalAveragePool", 1),
    one_op("Shape", 13),
    one_op("MaxPool", 8, kernel_shape=[2, 2]),
    one_op("Flatten", 9, axis=2),
]


@pytest.mark.parametrize("model", SAME_FORM, ids=lambda m: f"{m.graph.node[0].op_type}-{opset_of(m)}")
def test_node_comes_back_at_its_opset(model: ModelProto) -> None:
    exported = export_model(import_model(model))
    checker.check_model(exported)
    assert opset_of(exported) == opset_of(model)
    (before,), (after,) = model.graph.node, exported.graph.node
    assert before.op_type == after.op_type
    have = {a.name: helper.get_attribute_value(a) for a in after.attribute}
    for attribute in before.attribute:
        assert have[attribute.name] == helper.get_attribute_value(attribute)


def test_lowest_opset_that_expresses_the_module_is_used() -> None:
    """The sizes of a Resize with sizes exist from 11 on only."""
    module = import_model(one_op("Resize", 13, floats(), floats(), ints(2, 3, 8, 8), mode="linear"))
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

    module.attributes["onnx.opset_imports"] = ArrayAttr([StringAttr(":9")])
    assert opset_of(export_model(module)) == 11


def test_asked_for_opset_is_written_or_refused() -> None:
    module = import_model(one_op("ReduceMean", 18, ints(1)))
    assert opset_of(export_model(module, opset=13)) == 13
    assert opset_of(export_model(module, opset=28)) == 28
    parts = import_model(one_op("Split", 18, axis=1, num_outputs=2, outputs=2))
    with pytest.raises(PassError, match="opset 13 cannot express .*its parts may be unequal"):
        export_model(parts, opset=13)
    with pytest.raises(PassError, match="opset 99 is not known"):
        export_model(module, opset=99)


def test_element_type_that_came_later_raises_the_opset() -> None:
    """Relu takes integers from 14 on."""
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

    module = import_model(one_op("Relu", 14, element=TensorProto.INT32))
    module.attributes["onnx.opset_imports"] = ArrayAttr([StringAttr(":9")])
    assert opset_of(export_model(module)) == 14


@pytest.mark.parametrize(
    ("model", "opset", "reason"),
    [
        (one_op("Pad", 19, ints(*[1] * 8), mode="wrap"), 18, "its mode is wrap"),
        (
            one_op(
                "Resize", 19, floats(), floats(1, 1, 2, 2),
                mode="linear", coordinate_transformation_mode="half_pixel_symmetric",
            ),
            13, "its coordinate_transformation_mode is half_pixel_symmetric",
        ),
        (
            one_op("ScatterElements", 18, ints(0).reshape(1, 1, 1, 1), floats(1).reshape(1, 1, 1, 1),
                   reduction="max"),
            16, "its reduction is max",
        ),
        (one_op("ScatterND", 18, ints(0).reshape(1, 1), X[:1], reduction="min"), 16, "its reduction is min"),
        (one_op("GridSample", 20, np.zeros((2, 3, 3, 3, 3), np.float32)), 16, "may not be two-dimensional"),
        (one_op("Reshape", 14, ints(0, 5), allowzero=1), 13, "a 0 in its shape is an empty dim"),
    ],
    ids=lambda value: value.graph.node[0].op_type if isinstance(value, ModelProto) else None,
)  # fmt: skip
def test_form_that_came_later_is_refused(model: ModelProto, opset: int, reason: str) -> None:
    if model.graph.node[0].op_type == "GridSample":
        model.graph.input[0].type.tensor_type.shape.dim.add(dim_value=4)
    module = import_model(model)
    with pytest.raises(PassError, match=f"opset {opset} cannot express .*{reason}"):
        export_model(module, opset=opset)
    assert opset_of(export_model(module)) == opset_of(model)


@pytest.mark.parametrize(
    ("model", "attribute", "expected"),
    [
        (one_op("ReduceMean", 13, axes=[1, -1]), "axes", [1, 3]),
        (one_op("ReduceSum", 13, ints(-2)), "axes", [2]),
        (one_op("Unsqueeze", 13, ints(-1)), "axes", [4]),
        (one_op("ArgMax", 13, axis=-1), "axis", 3),
        (one_op("Flatten", 13, axis=-2), "axis", 2),
        (one_op("Split", 13, axis=-1, outputs=2), "axis", 3),
    ],
    ids=lambda value: value.graph.node[0].op_type if isinstance(value, ModelProto) else None,
)
def test_axes_count_from_the_front_before_11(model: ModelProto, attribute: str, expected: object) -> None:
    (node,) = export_model(import_model(model), opset=10).graph.node
    assert {a.name: helper.get_attribute_value(a) for a in node.attribute}[attribute] == expected
