"""Pipelines as converters of scikit-learn write them give what onnxruntime gives, for any number of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx.helper as oh
import onnx.numpy_helper as nh
import onnxruntime as ort
import pytest

import onnxloom
from onnxloom.lowering.compile import CompileOptions, compile_model

F32 = 1
FEATURES, CLASSES = 4, 3
RNG_SEED = 5


def ml(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return oh.make_node(op, inputs, outputs, domain="ai.onnx.ml", **attributes)


def model_of(nodes: list[Any], outputs: list[str], constants: dict[str, Any]) -> Any:
    graph = oh.make_graph(
        nodes,
        "g",
        [oh.make_tensor_value_info("x", F32, ["n", FEATURES])],
        [oh.make_empty_tensor_value_info(name) for name in outputs],
        [nh.from_array(array, name) for name, array in constants.items()],
    )
    return oh.make_model(
        graph, opset_imports=[oh.make_opsetid("", 18), oh.make_opsetid("ai.onnx.ml", 3)], ir_version=8
    )


def logistic_regression() -> Any:
    rng = np.random.default_rng(RNG_SEED)
    nodes = [
        ml("Scaler", ["x"], ["s"], offset=rng.random(FEATURES), scale=rng.random(FEATURES) + 0.5),
        ml(
            "LinearClassifier", ["s"], ["label", "raw"], classlabels_ints=list(range(CLASSES)), multi_class=1,
            coefficients=rng.standard_normal(CLASSES * FEATURES), intercepts=rng.standard_normal(CLASSES),
            post_transform="SOFTMAX",
        ),
        ml("Normalizer", ["raw"], ["p"], norm="L1"),
        ml("ZipMap", ["p"], ["probabilities"], classlabels_int64s=list(range(CLASSES))),
    ]  # fmt: skip
    return model_of(nodes, ["label", "probabilities"], {})


def random_forest() -> Any:
    """Trees of two levels; each leaf has a weight per class."""
    rng, trees = np.random.default_rng(RNG_SEED), 11
    at = np.tile(np.arange(7), trees)
    tree = np.repeat(np.arange(trees), 7)
    is_leaf = at >= 3
    leaves = np.flatnonzero(is_leaf)
    node = ml(
        "TreeEnsembleClassifier", ["x"], ["label", "p"], post_transform="NONE",
        nodes_treeids=tree, nodes_nodeids=at, nodes_featureids=rng.integers(0, FEATURES, at.size),
        nodes_values=rng.standard_normal(at.size), nodes_hitrates=np.ones(at.size),
        nodes_modes=["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
        nodes_truenodeids=np.where(is_leaf, 0, 2 * at + 1),
        nodes_falsenodeids=np.where(is_leaf, 0, 2 * at + 2),
        nodes_missing_value_tracks_true=np.zeros(at.size, int), classlabels_int64s=list(range(CLASSES)),
        class_treeids=np.repeat(tree[leaves], CLASSES), class_nodeids=np.repeat(at[leaves], CLASSES),
        class_ids=np.tile(np.arange(CLASSES), leaves.size), class_weights=rng.random(leaves.size * CLASSES),
    )  # fmt: skip
    return model_of([node], ["label", "p"], {})


def nearest_neighbours() -> Any:
    """Distances row by row in a Scan, the nearest three, the class most of them have."""
    rng, count = np.random.default_rng(RNG_SEED), 30
    body = oh.make_graph(
        [
            oh.make_node("Sub", ["all", "row"], ["d"]),
            oh.make_node("ReduceSumSquare", ["d", "axis"], ["q"], keepdims=0),
            oh.make_node("Identity", ["all"], ["same"]),
        ],
        "distances",
        [oh.make_tensor_value_info(name, F32, None) for name in ("all", "row")],
        [oh.make_tensor_value_info(name, F32, None) for name in ("same", "q")],
        [nh.from_array(np.array([1]), "axis")],
    )
    nodes = [
        oh.make_node("Scan", ["known", "x"], ["unused", "far"], body=body, num_scan_inputs=1),
        oh.make_node("TopK", ["far", "three"], ["distance", "which"], largest=0),
        oh.make_node("Reshape", ["which", "flat"], ["whichever"]),
        ml("ArrayFeatureExtractor", ["classes", "whichever"], ["found"]),
        oh.make_node("Reshape", ["found", "rows"], ["votes"]),
        oh.make_node("OneHot", ["votes", "depth", "values"], ["each"]),
        oh.make_node("ReduceSum", ["each", "axes"], ["counted"], keepdims=0),
        oh.make_node("ArgMax", ["counted"], ["best"], axis=1, keepdims=0),
        ml("ArrayFeatureExtractor", ["labels", "best"], ["label"]),
    ]
    constants = {
        "known": rng.standard_normal((count, FEATURES)).astype(np.float32),
        "three": np.array([3]), "classes": rng.integers(0, CLASSES, count), "flat": np.array([-1]),
        "rows": np.array([-1, 3]), "depth": np.array([CLASSES]), "values": np.array([0.0, 1.0], np.float32),
        "axes": np.array([1]), "labels": np.array([10, 20, 30]),
    }  # fmt: skip
    return model_of(nodes, ["label", "distance"], constants)


MODELS = {"logistic": logistic_regression, "forest": random_forest, "neighbours": nearest_neighbours}


def plain(value: Any) -> Any:
    """Dictionaries as lists of their keys and values."""
    if isinstance(value, list):
        return np.array([[*row.keys(), *row.values()] for row in value])
    return value


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("level", [0, 3])
def test_pipeline(name: str, level: int) -> None:
    data = MODELS[name]().SerializeToString()
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = ort.InferenceSession(data, options)
    model = compile_model(data, CompileOptions(opt_level=level, cache=False))
    for rows in (1, 7, 40):
        x = np.random.default_rng(rows).standard_normal((rows, FEATURES)).astype(np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", onnxloom.HostStepWarning)
            results = model(x)
        for got, want in zip(results, peer.run(None, {"x": x}), strict=True):
            found, expected = plain(got), plain(want)
            assert found.shape == expected.shape and found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    if level:
        assert {title.split()[0] for title in model.host_counts} <= {"ai.onnx.ml.ZipMap"}
