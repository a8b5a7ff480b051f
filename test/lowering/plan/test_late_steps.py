"""Steps in Python that no plan depends on run behind the records of the stretch, which goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from numerics import compiled
from onnx import TensorProto

from onnxloom.errors import OnnxloomError
from onnxloom.lowering.plan.node import Node, ReturnEnd, StepEnd
from onnxloom.lowering.runtime.host_ops.replacements.zip_map import zip_of
from onnxloom.lowering.runtime.model import CompiledModel

pytestmark = pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")

F32 = TensorProto.FLOAT


def model_of(nodes: list[Any], outputs: list[str], columns: int | str = 3) -> CompiledModel:
    """`x` is `[n, columns]`; outputs of unknown type are inferred."""
    graph = oh.make_graph(
        nodes,
        "g",
        [oh.make_tensor_value_info("x", F32, ("n", columns))],
        [oh.make_empty_tensor_value_info(name) for name in outputs],
    )
    opsets = [oh.make_opsetid("", 21), oh.make_opsetid("ai.onnx.ml", 5)]
    return compiled(oh.make_model(graph, opset_imports=opsets, ir_version=10))


def zip_map(source: str, target: str, labels: list[str] | None = None) -> Any:
    given: Any = {"classlabels_strings": labels or ["a", "b'", 'c"\\']}
    return oh.make_node("ZipMap", [source], [target], domain="ai.onnx.ml", **given)


def node(op: str, inputs: list[str], output: str, **attributes: Any) -> Any:
    return oh.make_node(op, inputs, [output], **attributes)


def the_root(model: CompiledModel) -> Node:
    (root,) = model.plans
    return root


def maps_of(x: Any, labels: tuple[str, ...] = ("a", "b'", 'c"\\')) -> list[dict[str, float]]:
    return [dict(zip(labels, row, strict=True)) for row in x.tolist()]


def test_the_plan_is_one_stretch_and_each_run_gives_a_list_of_its_own() -> None:
    model = model_of([node("Neg", ["x"], "y"), zip_map("y", "z"), node("Abs", ["y"], "w")], ["z", "w"])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    first, w = model(x)
    second, _ = model(x)
    third, _ = model(x)
    assert first == second == third == maps_of(-x)
    assert first is not second and second is not third and second[0] is not third[0]
    np.testing.assert_array_equal(w, x)
    root = the_root(model)
    assert isinstance(root.end, ReturnEnd) and not root.children and len(root.late) == 1
    assert model.host_counts["ai.onnx.ml.ZipMap"] == 3
    assert model(x[:0])[0] == []


def test_what_it_reads_is_not_written_over() -> None:
    """Sqrt could work in place of what it reads, but for ZipMap."""
    nodes = [node("Abs", ["x"], "y"), zip_map("y", "z")]
    more = [node("Sqrt", ["y"], "a"), node("MatMul", ["a", "t"], "b"), node("Transpose", ["a"], "t")]
    model = model_of([*nodes, more[0], more[2], more[1]], ["z", "b"])
    x = np.full((2, 3), -4, np.float32)
    z, b = model(x)
    assert z == maps_of(-x)
    np.testing.assert_array_equal(b, np.full((2, 2), 12))


def test_a_step_behind_it_reads_what_it_gave() -> None:
    nodes = [
        node("SequenceConstruct", ["x", "y"], "s"),
        node("SequenceInsert", ["s", "y"], "t"),
        node("ConcatFromSequence", ["t"], "z", axis=0),
        node("Neg", ["z"], "w"),
    ]
    model = model_of([node("Abs", ["x"], "y"), *nodes], ["w", "s"])
    x = -np.ones((2, 3), np.float32)
    for _ in range(2):
        w, s = model(x)
        np.testing.assert_array_equal(w, -np.concatenate([x, -x, -x]))
        assert len(s) == 2 and s[0] is not x
        s[0][...] = 5  # the caller's own
    root = the_root(model)
    assert len(root.late) == 2 and isinstance(root.end, StepEnd)


def test_other_labels_than_columns() -> None:
    model = model_of([zip_map("x", "z", ["a"])], ["z"], "m")
    for _ in range(2):
        with pytest.raises(OnnxloomError, match="1 class labels for rows of 3 numbers"):
            model(np.ones((2, 3), np.float32))
    assert model(np.ones((1, 1), np.float32))[0] == [{"a": 1.0}]


@pytest.mark.parametrize(
    "keys", [[], [3], ["x", "x"], ["\n{}\\'\"", "é\udc80"], list(range(64)), list(range(65))]
)
def test_dictionaries(keys: list[Any]) -> None:
    rows = [[float(7 * at + row) for at in range(len(keys))] for row in range(3)]
    assert zip_of(keys)(rows) == [dict(zip(keys, row, strict=True)) for row in rows]
    assert zip_of(keys)([]) == []
