"""Does the kernel of tree ensembles compute what the host does, and leave to it what it must not walk?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as nh
import pytest
from numerics import Array, compiled

from onnxloom.lowering.runtime.host_ops import evaluate
from onnxloom.lowering.runtime.model import CompiledModel

RNG_SEED = 3


def ensemble(
    *,
    modes: tuple[int, ...] = (0,),
    targets: int = 1,
    trees: int = 4,
    depth: int = 3,
    dtype: Any = np.float32,
    **attrs: Any,
) -> onnx.NodeProto:
    """Complete binary trees; splits are among the values of the inputs, so that equality happens."""
    rng = np.random.default_rng(RNG_SEED)
    inner, leaves = 2**depth - 1, 2**depth
    nodes = trees * inner
    false, true, is_leaf = [], [], []
    for tree in range(trees):
        for node in range(inner):
            low = 2 * node + 1
            leaf = low >= inner
            base = tree * leaves - inner if leaf else tree * inner
            false.append(base + low)
            true.append(base + low + 1)
            is_leaf.append(int(leaf))
    given: dict[str, Any] = {
        "nodes_splits": nh.from_array(rng.integers(-2, 3, nodes).astype(dtype)),
        "nodes_modes": nh.from_array(rng.choice(modes, nodes).astype(np.uint8)),
        "nodes_featureids": rng.integers(0, 5, nodes).tolist(),
        "nodes_falsenodeids": false,
        "nodes_truenodeids": true,
        "nodes_falseleafs": is_leaf,
        "nodes_trueleafs": is_leaf,
        "leaf_targetids": rng.integers(0, targets, trees * leaves).tolist(),
        "leaf_weights": nh.from_array(rng.standard_normal(trees * leaves).astype(dtype)),
        "tree_roots": [tree * inner for tree in range(trees)],
        "n_targets": targets,
    }
    return oh.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **{**given, **attrs})


def rows(count: int = 60, dtype: Any = np.float32) -> Array:
    rng = np.random.default_rng(1)
    x = rng.integers(-3, 4, (count, 5)).astype(dtype)
    if count:
        x[rng.random(x.shape) < 0.1] = np.nan
        x[0, 0], x[1, 1] = np.inf, -0.0
    return x


def model_of(node: onnx.NodeProto, x: Array, dims: Any = ("n", 5)) -> CompiledModel:
    kind = oh.np_dtype_to_tensor_dtype(x.dtype)
    graph = oh.make_graph(
        [node],
        "g",
        [oh.make_tensor_value_info("x", kind, dims)],
        [oh.make_tensor_value_info("y", kind, None)],
    )
    opsets = [oh.make_opsetid("", 21), oh.make_opsetid("ai.onnx.ml", 5)]
    return compiled(oh.make_model(graph, opset_imports=opsets, ir_version=10))


def check(node: onnx.NodeProto, *inputs: Array, atol: float = 0.0) -> None:
    model = model_of(node, inputs[0])
    for x in inputs:
        (want,) = evaluate(node, [x])
        got = model.run({"x": x})["y"]
        assert not model.host_counts
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=0, atol=atol)


@pytest.mark.parametrize("modes", [(0,), (1,), (2,), (3,), (4,), (5,), (0, 1, 2, 3, 4, 5)])
@pytest.mark.parametrize("targets", [1, 3])
def test_each_mode(modes: tuple[int, ...], targets: int) -> None:
    check(ensemble(modes=modes, targets=targets), rows())


@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
@pytest.mark.parametrize("targets", [1, 9])
def test_each_aggregate(aggregate: int, targets: int) -> None:
    check(ensemble(targets=targets, trees=2, aggregate_function=aggregate), rows(), atol=1e-7)


@pytest.mark.parametrize("transform", [0, 1, 2])
@pytest.mark.parametrize("targets", [1, 3])
def test_each_transform(transform: int, targets: int) -> None:
    check(ensemble(targets=targets, post_transform=transform), rows(), atol=1e-6)


def test_nan_follows_the_node() -> None:
    tracks = np.random.default_rng(0).integers(0, 2, 28).tolist()
    check(ensemble(modes=(0, 3, 5), nodes_missing_value_tracks_true=tracks), rows())


def test_doubles_no_rows_and_one_deep_tree() -> None:
    check(ensemble(dtype=np.float64), rows(dtype=np.float64))
    check(ensemble(targets=2), rows(0))
    check(ensemble(depth=9, trees=1), rows())


@pytest.mark.parametrize("trees", [1, 7, 8, 17])
def test_groups_of_rows_and_of_trees(trees: int) -> None:
    batches = [rows(60)[:count] for count in (1, 7, 8, 9, 31, 32, 33, 45)]
    check(ensemble(trees=trees, targets=2), *batches)
    tracks = [1, 0, 0] * (trees * 7 // 3 + 1)
    given: dict[str, Any] = {"nodes_missing_value_tracks_true": tracks[: trees * 7], "aggregate_function": 2}
    check(ensemble(trees=trees, **given), *batches, np.nan_to_num(rows()))


@pytest.mark.parametrize("mode", range(6))
def test_special_splits(mode: int) -> None:
    x = rows(40)
    x[:9, 0] = [0.0, -0.0, 1e-45, -1e-45, np.nan, np.inf, -np.inf, 1.0, 3e-45]
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45], np.float32)
    count = len(special)
    given: dict[str, Any] = {"nodes_splits": nh.from_array(special), "nodes_featureids": [0] * count}
    for missing in ([0] * count, [1] * count):
        node = ensemble(
            modes=(mode,), trees=count, depth=1, nodes_missing_value_tracks_true=missing, targets=14,
            leaf_targetids=list(range(14)), **given,
        )  # fmt: skip
        check(node, x)


def test_nodes_and_leaves_that_several_nodes_lead_to() -> None:
    """Node 0: node 2 or node 1; node 1: node 2 or leaf 0; node 2: leaf 0 or leaf 1."""
    shared: dict[str, Any] = {
        "nodes_falsenodeids": [2, 2, 0], "nodes_falseleafs": [0, 0, 1],
        "nodes_truenodeids": [1, 0, 1], "nodes_trueleafs": [0, 1, 1],
        "tree_roots": [0, 2, 0],
    }  # fmt: skip
    check(ensemble(trees=1, depth=2, **shared), rows())


SETS = np.array([1, -2, 3, np.nan, np.nan, 0, np.nan], np.float32)
"""Three sets: of three values, of none, of one."""


@pytest.mark.parametrize("missing", [[0, 0, 0], [1, 1, 1]])
def test_sets(missing: list[int]) -> None:
    given: dict[str, Any] = {
        "membership_values": nh.from_array(SETS),
        "nodes_missing_value_tracks_true": missing,
    }
    check(ensemble(modes=(6,), trees=1, depth=2, **given), rows())
    given = {**given, "nodes_modes": nh.from_array(np.array([6, 0, 6], np.uint8))}
    check(ensemble(modes=(6,), trees=1, depth=2, **given), rows())


@pytest.mark.parametrize(
    "attrs",
    [
        {"post_transform": 3},
        {"nodes_featureids": [7] * 28},
    ],
)
def test_what_stays_with_the_host(attrs: dict[str, Any]) -> None:
    node, x = ensemble(targets=2, **attrs), np.nan_to_num(np.tile(rows(), (1, 2)))
    (want,) = evaluate(node, [x])
    model = model_of(node, x, ("n", 10))
    np.testing.assert_allclose(model.run({"x": x})["y"], want, rtol=0, atol=1e-6)
    assert bool(model.host_counts) == ("post_transform" in attrs)


def test_more_features_than_there_are() -> None:
    from onnxloom.errors import OnnxloomError

    with pytest.raises(OnnxloomError, match="more features"):
        model_of(ensemble(nodes_featureids=[7] * 28), rows(), ("n", "f")).run({"x": rows()})


@pytest.mark.parametrize(
    "attrs",
    [
        {"nodes_truenodeids": [0] * 28, "nodes_trueleafs": [0] * 28},
        {"tree_roots": [99]},
        {"nodes_falsenodeids": [99] * 28},
        {"leaf_targetids": [5] * 32},
        {"nodes_featureids": [-1] * 28},
    ],
)
def test_tampered_trees_are_never_walked(attrs: dict[str, Any]) -> None:
    """A cycle would never end, and what is not there would be read beyond the tables."""
    model = model_of(ensemble(**attrs), rows())
    assert not any("trees" in name for name in model.artifact.symbols)
