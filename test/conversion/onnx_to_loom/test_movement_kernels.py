"""Do ops that only move elements put each in its place?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numerics import Array, check_op, compiled, graph_model
from onnx.helper import make_node, make_tensor

RNG = np.random.default_rng(11)


def numbers(*shape: int, dtype: str = "float32") -> Array:
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


@pytest.mark.parametrize("perm", list(itertools.permutations(range(3))))
def test_transpose(perm: tuple[int, ...]) -> None:
    cases = [[numbers(*s)] for s in ((2, 3, 4), (1, 3, 4), (2, 1, 1), (0, 3, 4), (17, 33, 20))]
    check_op("Transpose", cases, perm=list(perm))
    check_op("Transpose", cases[:1], perm=list(perm), dynamic=False)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64", "int64", "complex64"])
def test_copies_hold_any_element_type(dtype: str) -> None:
    check_op("Transpose", [[numbers(3, 4, dtype=dtype)]], perm=[1, 0])


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([1], [3], [0], [1]),
        ([0, 1], [100, 4], [0, 1], [1, 1]),
        ([-1], [-100], [1], [-1]),
        ([5], [0], [1], [-2]),
        ([0], [100], [-1], [3]),
        ([3], [1], [0], [1]),
        ([-2, 2], [2**62, -1], [0, 1], [1, 1]),
    ],
)
def test_slice(starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> None:
    constants = {1: ints(*starts), 2: ints(*ends), 3: ints(*axes), 4: ints(*steps)}
    check_op("Slice", [[numbers(5, 6)], [numbers(4, 7)]], constants=constants)


def test_slice_bounds_are_inputs() -> None:
    check_op("Slice", [[numbers(5, 6), ints(1, 2), ints(3, 5)], [numbers(5, 6), ints(0, 0), ints(1, -1)]])


def test_expand_and_tile() -> None:
    check_op("Expand", [[numbers(3, 1)]], constants={1: ints(2, 1, 4)})
    check_op("Expand", [[numbers(1)]], constants={1: ints(0, 3)})
    check_op("Tile", [[numbers(2, 3)], [numbers(1, 4)]], constants={1: ints(2, 3)})
    check_op("Tile", [[numbers(2, 3), ints(1, 2)], [numbers(2, 3), ints(3, 1)]])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int) -> None:
    shapes = [[3, 4, 5] for _ in range(3)]
    for i, shape in enumerate(shapes):
        shape[axis] = i
    check_op("Concat", [[numbers(*s) + 10 * i for i, s in enumerate(shapes)]], axis=axis)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_split(axis: int) -> None:
    shape = [2, 2, 2]
    shape[axis] = 7
    check_op("Split", [[numbers(*shape)]], constants={1: ints(1, 4, 2)}, axis=axis, outputs=3)
    check_op("Split", [[numbers(*shape)]], axis=axis, outputs=3, num_outputs=3)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad(mode: str) -> None:
    check_op("Pad", [[numbers(4, 5)], [numbers(3, 6)]], constants={1: ints(1, 2, 2, 0)}, mode=mode)


def test_pad_with_a_value_and_axes() -> None:
    constants = {1: ints(2, 1), 2: np.array(7, np.float32), 3: ints(1)}
    check_op("Pad", [[numbers(4, 5)]], constants=constants)


def test_negative_pads_cut() -> None:
    x = numbers(4, 5)
    feeds = {"x": x, "pads": ints(-1, 2, 1, -2)}
    y = np.pad(x[1:, :-2], [(0, 1), (2, 0)])
    model = compiled(graph_model([make_node("Pad", ["x", "pads"], ["y"])], feeds, {"y": y}))
    np.testing.assert_array_equal(model.run(feeds)["y"], y)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(axis: int) -> None:
    check_op("Gather", [[numbers(3, 4, 3), np.array([[0, 2], [-1, 1]])]], axis=axis)
    check_op("Gather", [[numbers(3, 4, 3), np.array(1, np.int32)]], axis=axis)


def test_gather_elements_and_nd() -> None:
    check_op("GatherElements", [[numbers(4, 3), np.array([[0, 2, 1], [-1, 0, 2]])]], axis=0)
    check_op("GatherElements", [[numbers(4, 3), np.array([[0, -1], [1, 1], [2, 0], [-3, 2]])]], axis=1)
    check_op("GatherND", [[numbers(2, 3, 4), np.array([[0, 1], [1, -1]])]], dynamic=False)
    check_op("GatherND", [[numbers(2, 3, 4), np.array([[1], [2]])]], dynamic=False, batch_dims=1)


def test_views() -> None:
    check_op("Reshape", [[numbers(2, 6)], [numbers(4, 3)]], constants={1: ints(-1, 2, 2)})
    check_op("Reshape", [[numbers(2, 6), ints(0, 3, -1)], [numbers(2, 6), ints(1, 2, 6)]])
    check_op("Flatten", [[numbers(2, 3, 4)]], axis=-1)
    check_op("Squeeze", [[numbers(1, 3, 1)]], constants={1: ints(-1, 0)})
    check_op("Unsqueeze", [[numbers(3, 4)]], constants={1: ints(-1, 0)})


def test_depth_and_space() -> None:
    for mode in ("DCR", "CRD"):
        check_op("DepthToSpace", [[numbers(1, 8, 2, 3)], [numbers(2, 4, 3, 1)]], blocksize=2, mode=mode)
    check_op("SpaceToDepth", [[numbers(1, 2, 4, 6)]], blocksize=2)


def test_constant_of_shape_reads_its_shape_at_plan_time() -> None:
    check_op("ConstantOfShape", [[ints(2, 3)], [ints(4, 0)]], value=make_tensor("v", 1, [1], [2.5]))
    check_op("ConstantOfShape", [[ints(3)]])
