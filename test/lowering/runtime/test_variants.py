"""A model whose ranks depend on the shapes of its inputs is compiled again for the shapes it meets."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnxloom
from onnxloom.errors import InputError
from onnxloom.lowering.runtime import model as model_module


def squeeze_if_one() -> onnx.ModelProto:
    """`Relu(x of [n, m], without its first dim where that is 1)`: the rank is known only with the dims."""
    then = helper.make_graph(
        [helper.make_node("Squeeze", ["x", "first"], ["s"])],
        "then",
        [],
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, None)],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["i"])],
        "else",
        [],
        [helper.make_tensor_value_info("i", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("Shape", ["x"], ["d"], start=0, end=1),
        helper.make_node("Equal", ["d", "one"], ["e"]),
        helper.make_node("Squeeze", ["e", "first"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    one = helper.make_tensor("one", TensorProto.INT64, [1], [1])
    first = helper.make_tensor("first", TensorProto.INT64, [1], [0])
    graph = helper.make_graph(
        nodes,
        "squeeze",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m"])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [one, first],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (1, 1), (0, 3)])
def test_values_for_every_rank(shape: tuple[int, int]) -> None:
    model = onnxloom.compile(squeeze_if_one())
    x = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    want = np.maximum(x[0] if shape[0] == 1 else x, 0)
    for _ in range(2):
        (got,) = model(x)
        np.testing.assert_array_equal(got, want)


def test_no_step_runs_in_python_once_the_shapes_are_known() -> None:
    model = onnxloom.compile(squeeze_if_one())
    assert model.artifact.open_ranks
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(np.ones((1, 3), np.float32))
    assert model.host_steps == 0


def test_beyond_the_limit_of_variants_such_steps_run_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "MAX_VARIANTS", 0)
    model = onnxloom.compile(squeeze_if_one())
    with pytest.warns(model_module.HostStepWarning):
        (got,) = model(np.ones((1, 3), np.float32))
    assert got.shape == (3,)
    assert model.host_steps == 1


def test_inputs_that_do_not_fit_are_refused_all_the_same() -> None:
    model = onnxloom.compile(squeeze_if_one())
    with pytest.raises(InputError, match="'x'"):
        model(np.ones((1, 3, 1), np.float32))


def test_shapes_that_cannot_be_compiled_for_are_tried_once() -> None:
    model = onnxloom.compile(squeeze_if_one())
    tried: list[object] = []

    def refuse(shapes: object) -> onnxloom.CompiledModel:
        tried.append(shapes)
        raise onnxloom.ModelError("not for these")

    model.specialize = refuse
    strided = np.ones((1, 6), np.float32)[:, ::2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            assert model(strided)[0].shape == (3,)
    assert tried == [((1, 3),)]
