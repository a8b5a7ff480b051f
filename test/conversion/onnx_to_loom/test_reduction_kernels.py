"""Do reductions, softmax and normalizations compute what the reference does, over any axes?"""

from __future__ import annotations

import itertools

import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, check_op, compiled, graph_model, reference

RNG = np.random.default_rng(5)
REDUCTIONS = [
    "ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
    "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
]  # fmt: skip
AXES = [list(c) for n in (1, 2, 3) for c in itertools.combinations(range(4), n)]


def positive(*shape: int, dtype: str = "float32") -> Array:
    return (RNG.random(shape) + 0.5).astype(dtype)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


@pytest.mark.parametrize("axes", AXES)
def test_sum_over_any_axes(axes: list[int]) -> None:
    cases = [[positive(*s)] for s in ((2, 3, 4, 5), (1, 3, 1, 5), (2, 1, 4, 1), (3, 2, 2, 300))]
    check_op("ReduceSum", cases, constants={1: ints(*axes)}, keepdims=0)
    check_op("ReduceMax", cases[:1], constants={1: ints(*axes)}, dynamic=False)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_each_reduction(name: str) -> None:
    for axes in ([-1], [0], [0, 2]):
        check_op(name, [[positive(3, 4, 5)]], constants={1: ints(*axes)})
    check_op(name, [[positive(3, 4)]], keepdims=0)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_over_no_axes_still_does_its_other_steps(name: str) -> None:
    """ReduceSumSquare squares, ReduceLogSum takes the logarithm."""
    check_op(name, [[positive(3, 4)]], constants={1: ints()}, noop_with_empty_axes=1)
    check_op(name, [[positive(3, 4)]], noop_with_empty_axes=1, keepdims=0)


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMax", "ReduceMean"])
def test_axes_are_an_input(name: str) -> None:
    x = positive(3, 4, 5)
    check_op(name, [[x, ints(1)], [x, ints(-1)], [x, ints(0)]])


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("noop", [0, 1])
def test_axes_that_are_an_input_may_be_none(name: str, noop: int) -> None:
    data = np.random.default_rng(3).uniform(-2, 2, (3, 4)).astype(np.float32)
    for axes in ([], [1], [-2, 1]):
        node = oh.make_node(name, ["x", "a"], ["y"], noop_with_empty_axes=noop)
        feeds = {"x": data, "a": np.array(axes, np.int64)}
        proto = graph_model([node], feeds, {"y": data})
        proto.graph.input[1].type.tensor_type.shape.dim[0].ClearField("dim_value")
        model = compiled(proto)
        assert_close(list(model.run(feeds).values()), reference(proto, feeds), rtol=1e-6)
        assert not model.host_counts
        check_op(name, [[data, feeds["a"]]], noop_with_empty_axes=noop, dynamic=False)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int64"])
@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"])
def test_element_types(name: str, dtype: str) -> None:
    x = (positive(4, 6) * 10).astype(dtype)
    check_op(name, [[x]], constants={1: ints(1)}, rtol=2e-3 if dtype == "float16" else 1e-5)


def test_max_keeps_nan_and_empty_reductions_have_their_neutral_element() -> None:
    x = positive(3, 4)
    x[1, 2] = np.nan
    for name in ("ReduceMax", "ReduceMin"):
        for axis in (0, 1):
            check_op(name, [[x]], constants={1: ints(axis)})
    check_op("ReduceSum", [[np.zeros((2, 0, 3), np.float32)]], constants={1: ints(1)})
    check_op("ReduceProd", [[np.zeros((2, 0), np.float32)]], constants={1: ints(1)})


@pytest.mark.unchecked(reason="sums are added up in the order written, not in lanes")
def test_long_sums_are_accurate() -> None:
    x = RNG.normal(size=(3, 40000)).astype(np.float32)
    check_op("ReduceL1", [[x]], constants={1: ints(1)}, rtol=2e-6)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
def test_arg_extremes(name: str, last: int) -> None:
    x = RNG.integers(0, 4, (5, 6, 7)).astype(np.float32)
    for axis in (0, 1, 2):
        check_op(name, [[x]], axis=axis, select_last_index=last)
    x[2, 3, 4] = x[0, 3, 2] = np.nan
    for axis in (0, 1, 2):
        check_op(name, [[x]], axis=axis, select_last_index=last, keepdims=0)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
def test_arg_extremes_of_neutral_elements(name: str, last: int) -> None:
    """Rows of nothing but the value that a walk for the extreme starts from."""
    for value in (-np.inf, np.inf):
        x = np.full((3, 40), value, np.float32)
        x[1, 37] = 0
        check_op(name, [[x]], axis=1, select_last_index=last)
    lows = ((np.uint8, 0), (np.int8, -128), (np.int64, -(2**63)), (np.float16, 0))
    for dtype, lowest in lows:
        x = RNG.integers(0, 100, (3, 40)).astype(dtype)
        x[0] = lowest
        x[1, 20] = lowest
        check_op(name, [[x]], axis=1, select_last_index=last)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax", "LpNormalization"])
def test_ops_along_an_axis(name: str, axis: int) -> None:
    check_op(name, [[RNG.normal(size=s).astype(np.float32) * 5] for s in ((3, 4, 5), (2, 1, 70))], axis=axis)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax", "LpNormalization"])
def test_columns_beside_each_other(name: str) -> None:
    """More than one block of columns, with a rest; and one column."""
    cases = [[RNG.normal(size=shape).astype(np.float32)] for shape in ((2, 5, 300), (1, 3, 256), (2, 4, 1))]
    check_op(name, cases, axis=1)


def test_softmax_of_extreme_rows() -> None:
    x = np.array([[1e30, 1e30, 0], [-np.inf, 0, 1], [np.inf, 0, 1], [np.nan, 0, 1]], np.float32)
    check_op("Softmax", [[x]])
    check_op("Softmax", [[RNG.normal(size=(4, 9)).astype(np.float16)]], rtol=2e-3)


def test_layer_norm() -> None:
    x = RNG.normal(size=(3, 4, 8)).astype(np.float32) + 3
    check_op("LayerNormalization", [[x, positive(8), positive(8)]], axis=-1, dynamic=False, rtol=1e-4)
    check_op("LayerNormalization", [[x, positive(4, 8)]], axis=1, dynamic=False, rtol=1e-4)
    check_op(
        "LayerNormalization", [[x, positive(8), positive(8)]], axis=2, dynamic=False, outputs=3, rtol=1e-4
    )
    check_op("RMSNormalization", [[x, positive(8)]], axis=-1, dynamic=False, rtol=1e-4)


def test_channel_norms() -> None:
    x = RNG.normal(size=(2, 6, 5, 5)).astype(np.float32) + 3
    scale, bias = positive(6), positive(6)
    check_op("InstanceNormalization", [[x, scale, bias]], rtol=1e-4)
    check_op("GroupNormalization", [[x, scale, bias]], num_groups=3, rtol=1e-4)
    check_op("BatchNormalization", [[x, scale, bias, positive(6), positive(6)]], rtol=1e-4)
    check_op("BatchNormalization", [[positive(4, 6), scale, bias, bias, scale]], rtol=1e-4)


def test_global_pools() -> None:
    check_op("GlobalAveragePool", [[positive(2, 3, 7, 5)], [positive(1, 3, 1, 1)]])
    check_op("GlobalMaxPool", [[positive(2, 3, 7, 5)]])


@pytest.mark.parametrize("width", [1, 5, 64, 130])
def test_rows_that_are_read_while_others_are_written(width: int) -> None:
    """Blocks of 16 rows, with a rest."""
    for rows in (1, 15, 16, 17, 33):
        shapes: list[tuple[int, ...]] = [(rows, width), (width,), (width,)]
        x, scale, bias = (RNG.normal(size=shape).astype(np.float32) for shape in shapes)
        x[rows // 2] *= 10
        check_op("LayerNormalization", [[x, scale, bias]], rtol=1e-4)
        check_op("LogSoftmax", [[x]], rtol=1e-5)


def test_special_values_stay_in_their_row() -> None:
    x = RNG.normal(size=(18, 40)).astype(np.float32)
    x[3, 7], x[15, 0], x[16, 39] = np.nan, np.inf, -np.inf
    check_op("LayerNormalization", [[x, np.ones(40, np.float32)]], rtol=1e-4)
    check_op("LogSoftmax", [[x]], rtol=1e-5)
