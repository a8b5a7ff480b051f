"""The deprecated tree ops become TreeEnsembles that give the same; what cannot stays, with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from onnxloom.conversion.onnx_import import import_model
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.testing import Rel
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.tools.cli import main
from onnxloom.transforms.patterns.machine_learning.tree_ensemble_classifier import (
    TreeEnsembleClassifierPattern,
)
from onnxloom.transforms.patterns.machine_learning.tree_ensemble_regressor import (
    TreeEnsembleRegressorPattern,
)

F32, F64, I64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64

NODES: dict[str, Any] = {
    # Tree 5 has three leaves, tree 2 is one leaf, tree 9 has two; nodes stand in no order.
    "nodes_treeids": [5, 5, 5, 5, 5, 2, 9, 9, 9],
    "nodes_nodeids": [0, 1, 2, 3, 4, 7, 2, 0, 1],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
    "nodes_featureids": [0, 0, 2, 0, 0, 0, 1, 0, 0],
    "nodes_values": [0.25, 0.0, -0.5, 0.0, 0.0, 0.0, 0.125, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 3, 0, 0, 0, 0, 0, 0],
    "nodes_falsenodeids": [2, 0, 4, 0, 0, 0, 1, 0, 0],
    "nodes_missing_value_tracks_true": [0, 0, 1, 0, 0, 0, 1, 0, 0],
}
LEAVES = {"treeids": [5, 5, 5, 2, 9, 9], "nodeids": [1, 3, 4, 7, 0, 1]}
WEIGHTS = [0.5, 0.25, 0.125, 0.0625, 0.75, -0.5]


def weighed(prefix: str, ids: Sequence[int], weights: Sequence[float] = WEIGHTS) -> dict[str, Any]:
    """Entries of the leaves in order; more of them than there are leaves begin again at the first."""
    times = len(ids) // len(WEIGHTS)
    return {
        f"{prefix}_treeids": LEAVES["treeids"] * times,
        f"{prefix}_nodeids": LEAVES["nodeids"] * times,
        f"{prefix}_ids": list(ids),
        f"{prefix}_weights": list(weights) * times,
    }


def regressor(element: int = F32, shape: Sequence[int | str] = ("n", 3), **changes: Any) -> onnx.ModelProto:
    given = {**NODES, **weighed("target", [0] * 6), "n_targets": 1, **changes}
    return _model("TreeEnsembleRegressor", given, element, shape, [F32])


def classifier(element: int = F32, shape: Sequence[int | str] = ("n", 3), **changes: Any) -> onnx.ModelProto:
    given = {**NODES, **weighed("class", [0, 1, 2, 0, 1, 2]), "classlabels_int64s": [4, 6, 5], **changes}
    return _model("TreeEnsembleClassifier", given, element, shape, [I64, F32])


def _model(
    name: str, attributes: dict[str, Any], element: int, shape: Sequence[int | str], outputs: Sequence[int]
) -> onnx.ModelProto:
    given = {key: value for key, value in attributes.items() if value is not None}
    outs = [helper.make_tensor_value_info(f"y{i}", t, None) for i, t in enumerate(outputs)]
    node = helper.make_node(name, ["x"], [out.name for out in outs], domain="ai.onnx.ml", **given)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", element, shape)], outs)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


BINARY: dict[str, Any] = {
    **weighed("class", [0] * 6, [abs(w) for w in WEIGHTS]),
    "classlabels_int64s": [8, 3],
}
SEVERAL = [0, 1, 2, 0, 1, 2, 1, 2, 0, 1, 2, 0]

SAME = {
    "sum": regressor(),
    "base": regressor(base_values=[10.0]),
    "average": regressor(aggregate_function="AVERAGE"),
    "min": regressor(aggregate_function="MIN"),
    "max": regressor(aggregate_function="MAX"),
    "targets": regressor(n_targets=2, **weighed("target", [0, 1, 0, 1, 0, 1]), base_values=[1.0, 2.0]),
    "several": regressor(n_targets=3, **weighed("target", SEVERAL)),
    "several-average": regressor(n_targets=3, aggregate_function="AVERAGE", **weighed("target", SEVERAL)),
    "classes": classifier(),
    "classes-several": classifier(**weighed("class", SEVERAL), base_values=[0.1, 0.2, 0.3]),
    "classes-softmax": classifier(post_transform="SOFTMAX"),
    "classes-logistic": classifier(post_transform="LOGISTIC"),
    "binary": classifier(**BINARY),
    "binary-base": classifier(**BINARY, base_values=[0.125]),
    "binary-softmax": classifier(**{**BINARY, **weighed("class", [0] * 6)}, post_transform="SOFTMAX"),
    "binary-logistic": classifier(**{**BINARY, **weighed("class", [0] * 6)}, post_transform="LOGISTIC"),
}

X = np.array(
    [[0.25, 0.125, -0.5], [0.26, 0.1, -0.4], [1, -1, -1], [np.nan, np.nan, np.nan], [-1, 1, 1]], np.float32
)


def _pattern(model: onnx.ModelProto) -> type[TreeEnsembleClassifierPattern | TreeEnsembleRegressorPattern]:
    is_classifier = model.graph.node[0].op_type == "TreeEnsembleClassifier"
    return TreeEnsembleClassifierPattern if is_classifier else TreeEnsembleRegressorPattern


@pytest.mark.parametrize("name", SAME)
def test_trees_become_a_tree_ensemble(name: str):
    done = check_pattern(SAME[name], _pattern(SAME[name]), [{"x": X}], Rel(1e-6, 1e-7), times=1)
    assert any(op.name == "onnx.TreeEnsemble" for op in done.walk())


@pytest.mark.parametrize("name", SAME)
def test_compiled_they_give_what_onnxruntime_gives(name: str):
    model = compile_model(SAME[name], CompileOptions(cache=False))
    if name == "binary-softmax":  # onnxruntime leaves these scores as they are
        return
    theirs = ort.InferenceSession(SAME[name].SerializeToString()).run(None, {"x": X})
    for ours, wanted in zip(model.run({"x": X}).values(), theirs, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6, atol=1e-7)
    assert model.host_steps == 0


def test_names_of_exported_nodes_are_unique(tmp_path: Path):
    model = classifier()
    model.graph.node[0].name = "trees"
    onnx.save(model, tmp_path / "old.onnx")
    assert main(["optimize", str(tmp_path / "old.onnx"), "-o", str(tmp_path / "new.onnx")]) == 0
    names = [node.name for node in onnx.load(tmp_path / "new.onnx").graph.node]
    assert "trees" in names
    assert len({*names} - {""}) == len([name for name in names if name])
    theirs = ort.InferenceSession(str(tmp_path / "new.onnx")).run(None, {"x": X})
    for ours, wanted in zip(compile_model(model).run({"x": X}).values(), theirs, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6, atol=1e-7)


def test_other_types_of_inputs_give_f32():
    for element, dtype in ((F64, np.float64), (I64, np.int64)):
        model = compile_model(regressor(element), CompileOptions(cache=False))
        (found,) = model.run({"x": np.nan_to_num(X).astype(dtype)}).values()
        (wanted,) = (
            compile_model(regressor()).run({"x": np.nan_to_num(X).astype(dtype).astype(np.float32)}).values()
        )
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert model.host_steps == 0


def _changed(name: str, at: int, value: Any) -> dict[str, Any]:
    values = list(NODES[name])
    values[at] = value
    return {name: values}


STAY = {
    "not known to be rows": regressor(shape=(3,)),
    "number of targets": regressor(n_targets=None),
    "neither one base value nor": regressor(base_values=[1.0, 2.0]),
    "what follows is SOFTPLUS": regressor(post_transform="SOFTPLUS"),
    "trees are joined by MEDIAN": regressor(aggregate_function="MEDIAN"),
    "of which the least or largest": regressor(aggregate_function="MAX", **weighed("target", [0] * 12)),
    "nodes are of different length": regressor(nodes_featureids=[0]),
    "the lists of nodes are": regressor(nodes_values=None),
    "compare in a way": regressor(**_changed("nodes_modes", 0, "BRANCH_SOME")),
    "two places": regressor(**_changed("nodes_nodeids", 1, 0)),
    "follows that is not there": regressor(**_changed("nodes_truenodeids", 0, 77)),
    "weights are of different length": regressor(target_ids=[0]),
    "leaves or targets that are not there": regressor(target_ids=[0, 0, 0, 0, 0, 1]),
    "weights belong to leaves": regressor(target_nodeids=[0, 3, 4, 7, 0, 1]),
    "fewer than two labels": classifier(classlabels_int64s=[1]),
    "not one base value per": classifier(**{**BINARY, **weighed("class", [1] * 6)}, base_values=[1.0, 2.0]),
    "weights are of one class": classifier(class_ids=[0] * 6),
    "not one base value per score": classifier(base_values=[1.0]),
    "what follows is PROBIT": classifier(**BINARY, post_transform="PROBIT"),
    "what follows is SOFT": classifier(post_transform="SOFT"),
    "known to be rows": classifier(shape=(3,)),
}


@pytest.mark.parametrize("reason", STAY)
def test_trees_stay(reason: str):
    model = STAY[reason]
    assert reason in decline_reason(import_model(model), _pattern(model))
