"""Do ops refuse values their kernels cannot accept, instead of giving a clamped or wrong result?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from text_models import compiled, model_of

import onnxloom
from onnxloom.errors import InputError, ModelError, OnnxloomError
from onnxloom.lowering.runtime.model import CompiledModel

pytestmark = pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def named(graph: str) -> CompiledModel:
    """The model with its ops called n0, n1, ... in order."""
    proto = model_of(graph)
    for number, node in enumerate(proto.graph.node):
        node.name = f"n{number}"
    return onnxloom.compile(proto, cache=False)


@pytest.mark.parametrize("index", [3, -4, 7, 2**62, -(2**63)])
def test_gather_names_the_op_the_index_and_the_dim(index: int) -> None:
    model = named("agraph (float[N, M] x, int64[K] i) => (float[K, M] y) { y = Gather(x, i) }")
    np.testing.assert_array_equal(model(X, ints(2, -3))[0], X[[2, -3]])
    with pytest.raises(InputError, match=rf'^Gather "n0": index {index} is out of range for a dim of 3$'):
        model(X, ints(1, index, 9))
    np.testing.assert_array_equal(model(X, ints(0, 1))[0], X[:2])
    assert model.host_steps == 0


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather_along_another_axis(dtype: type) -> None:
    model = compiled(
        f"agraph (float[3, 4] x, {np.dtype(dtype)}[A, B] i) => (float[3, A, B] y)"
        "{ y = Gather <axis=1> (x, i) }"
    )
    good = np.array([[3, -4], [0, 1]], dtype)
    np.testing.assert_array_equal(model(X, good)[0], X[:, good])
    for bad in (4, -5):
        with pytest.raises(InputError, match=f"index {bad} is out of range for a dim of 4"):
            model(X, np.array([[0, 1], [bad, 0]], dtype))


def test_gather_elements() -> None:
    model = named(
        "agraph (float[N, M] x, int64[K, L] i) => (float[K, L] y) { y = GatherElements <axis=0> (x, i) }"
    )
    good = ints(0, 2, -1, -3).reshape(2, 2)
    np.testing.assert_array_equal(model(X, good)[0], np.take_along_axis(X[:, :2], good, 0))
    with pytest.raises(InputError, match='GatherElements "n0": index 3 is out of range for a dim of 3'):
        model(X, ints(0, 3, 0, 5).reshape(2, 2))
    with pytest.raises(InputError, match="dim 1 of the indices is larger than that of the data"):
        model(X, np.zeros((2, 5), np.int64))


def test_gather_nd_names_the_dim_of_the_column() -> None:
    model = named("agraph (float[N, M] x, int64[K, 2] i) => (float[K] y) { y = GatherND(x, i) }")
    np.testing.assert_array_equal(model(X, ints(2, 3, -3, -4).reshape(2, 2))[0], [11, 0])
    with pytest.raises(InputError, match='GatherND "n0": index 4 is out of range for a dim of 4'):
        model(X, ints(0, 3, 0, 4).reshape(2, 2))
    with pytest.raises(InputError, match="index 3 is out of range for a dim of 3"):
        model(X, ints(0, 0, 3, 9).reshape(2, 2))


def test_gather_nd_refuses_indices_of_another_batch() -> None:
    model = compiled(
        "agraph (float[N, M] x, int64[K, 1] i) => (float[K] y) { y = GatherND <batch_dims=1> (x, i) }"
    )
    np.testing.assert_array_equal(model(X, ints(0, 1, 3).reshape(3, 1))[0], [0, 5, 11])
    with pytest.raises(InputError, match="batch dim 0 of the indices is not that of the data"):
        model(X, ints(0, 1).reshape(2, 1))


@pytest.mark.parametrize(
    "op", ["Gather(x, i)", "GatherElements(x, i)", "GatherND(x, i)"], ids=lambda op: op.split("(")[0]
)
def test_nothing_is_read_from_an_empty_dim(op: str) -> None:
    model = compiled(f"agraph (float[N, M] x, int64[K, 1] i) => (float y) {{ g = {op} y = ReduceSum(g) }}")
    assert model(X[:0], np.zeros((0, 1), np.int64))[0].sum() == 0
    with pytest.raises(InputError, match="an index is out of range for a dim of 0"):
        model(X[:0], ints(0).reshape(1, 1))


def test_constant_indices_that_fit_are_not_checked_again() -> None:
    graph = """agraph (float[3, M] x) => (float[2, M] y) {{
        i = Constant <value_ints = [0, {last}]> ()
        y = Gather(x, i)
    }}"""
    model = compiled(graph.format(last=-3))
    np.testing.assert_array_equal(model(X)[0], X[[0, 0]])
    assert not model.plans[0].checks
    with pytest.raises(OnnxloomError, match="3"):
        compiled(graph.format(last=3))(X)


@pytest.mark.parametrize("op", ["Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp"])
def test_reductions_refuse_axes_the_tensor_does_not_have(op: str) -> None:
    model = named(
        f"agraph (float[N, M] x, int64[1] a) => (float[A, B] y) {{ y = Reduce{op} <keepdims=1> (x, a) }}"
    )
    assert model(X, ints(-1))[0].shape == (3, 1)
    for axis in (2, 5, -3):
        with pytest.raises(
            ModelError, match=f'^Reduce{op} "n0": axis {axis} is out of range for a tensor of 2'
        ):
            model(X, ints(axis))


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_the_extreme_of_nothing_has_no_index(op: str) -> None:
    model = named(f"agraph (float[N, M] x) => (int64[A, M] y) {{ y = {op} <axis=0> (x) }}")
    assert model(X)[0].shape == (1, 4)
    assert model(X[:, :0])[0].shape == (1, 0)
    with pytest.raises(InputError, match=f'^{op} "n0": axis 0 has no elements to choose from$'):
        model(X[:0])


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_an_empty_dim_cannot_be_padded_by_repetition(mode: str) -> None:
    model = named(
        f'agraph (float[N, M] x, int64[4] p) => (float[A, B] y) {{ y = Pad <mode="{mode}"> (x, p) }}'
    )
    np.testing.assert_array_equal(model(X, ints(1, 0, 1, 2))[0], np.pad(X, [(1, 1), (0, 2)], mode))  # pyright: ignore
    assert model(X[:0], ints(0, 1, 0, 0))[0].shape == (0, 5)
    with pytest.raises(InputError, match='Pad "n0": .*nothing to repeat along dim 0'):
        model(X[:0], ints(1, 0, 0, 0))


@pytest.mark.parametrize("sizes", [(2**40, 4), (2**62, 4), (2**62, 2**62), (2**63 - 1, 1)])
def test_results_beyond_memory_name_the_op_and_the_shape(sizes: tuple[int, int]) -> None:
    pad = named("agraph (float[N, M] x, int64[4] p) => (float[A, B] y) { y = Pad(x, p) }")
    tile = named("agraph (float[N, M] x, int64[2] r) => (float[A, B] y) { y = Tile(x, r) }")
    expand = named("agraph (float[1, 1] x, int64[2] s) => (float[A, B] y) { y = Expand(x, s) }")
    fill = named("agraph (int64[2] s) => (float[A, B] y) { y = ConstantOfShape(s) }")
    text = ".*does not fit in memory"
    with pytest.raises(ModelError, match=rf'^Pad "n0": a result of shape \[{sizes[0] + 3}, 4\]{text}'):
        pad(X, ints(sizes[0], 0, 0, 0))
    with pytest.raises(
        ModelError, match=rf'^Tile "n0": a result of shape \[{sizes[0] * 3}, {sizes[1] * 4}\]'
    ):
        tile(X, ints(*sizes))
    with pytest.raises(ModelError, match=rf'^Tile "n0": a result of shape \[0, {sizes[0] * 4}\]{text}'):
        tile(X[:0], ints(2**62, sizes[0]))
    with pytest.raises(
        ModelError, match=rf'^Expand "n0": a result of shape \[{sizes[0]}, {sizes[1]}\]{text}'
    ):
        expand(X[:1, :1], ints(*sizes))
    with pytest.raises(
        ModelError, match=rf'^ConstantOfShape "n0": a result of shape \[{sizes[0]}, {sizes[1]}\]'
    ):
        fill(ints(*sizes))


def test_pads_that_cancel_leave_only_padding() -> None:
    model = compiled("agraph (float[N, M] x, int64[4] p) => (float[A, B] y) { y = Pad(x, p) }")
    np.testing.assert_array_equal(model(X + 1, ints(2**61, 0, -(2**61), 0))[0], np.zeros((3, 4)))


def test_expand_says_what_does_not_broadcast() -> None:
    model = named("agraph (float[N, M] x, int64[2] s) => (float[A, B] y) { y = Expand(x, s) }")
    np.testing.assert_array_equal(model(X[:1], ints(3, 1))[0], np.broadcast_to(X[:1], (3, 4)))
    with pytest.raises(ModelError, match=r'Expand "n0": a tensor of shape \[3, 4\] cannot be .* \[2, 4\]'):
        model(X, ints(2, 4))


@pytest.mark.parametrize(
    ("graph", "good", "bad", "message"),
    [
        (
            "agraph (float[N, M] x) => (float[K] y) <int64[1] a = {0}> { y = Squeeze(x, a) }",
            (1, 4), (3, 4), 'Squeeze "n0": dim 0 is not 1',
        ),
        (
            "agraph (float[N, 3] x) => (float[2, 3] y) <int64[2] s = {2, 3}> { y = Reshape(x, s) }",
            (2, 3), (4, 3), 'Reshape "n0": the input does not have the number of elements',
        ),
        (
            "agraph (float[1, C, 2, 2] x) => (float[1, K, 4, 4] y) { y = DepthToSpace <blocksize=2> (x) }",
            (1, 8, 2, 2), (1, 6, 2, 2), 'DepthToSpace "n0": the number of channels is no multiple of 4',
        ),
        (
            "agraph (float[1, 1, H, W] x) => (float[1, 4, K, L] y) { y = SpaceToDepth <blocksize=2> (x) }",
            (1, 1, 4, 2), (1, 1, 4, 3), 'SpaceToDepth "n0": the width is no multiple of 2',
        ),
    ],
)  # fmt: skip
def test_no_element_is_dropped(graph: str, good: tuple[int, ...], bad: tuple[int, ...], message: str) -> None:
    model = named(graph)
    assert model(np.ones(good, np.float32))[0].size == np.prod(good)
    with pytest.raises(InputError, match=f"^{message}"):
        model(np.ones(bad, np.float32))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_nothing_is_resampled_from_an_empty_dim(mode: str) -> None:
    model = named(
        "agraph (float[1, 1, N] x, int64[3] s) => (float[1, 1, K] y)"
        f'{{ y = Resize <mode="{mode}"> (x, , , s) }}'
    )
    assert model(np.ones((1, 1, 0), np.float32), ints(1, 1, 0))[0].shape == (1, 1, 0)
    with pytest.raises(InputError, match='^Resize "n0": dim 2 is 0'):
        model(np.ones((1, 1, 0), np.float32), ints(1, 1, 3))


def test_results_of_more_dims_than_arrays_have() -> None:
    model = named(
        "agraph (int64[100] s) => (float y) { f = ConstantOfShape(s) y = ReduceSum <keepdims=0> (f) }"
    )
    with pytest.raises(
        ModelError, match='^ConstantOfShape "n0": a result of 100 dims; arrays have at most 64$'
    ):
        model(np.ones(100, np.int64))


@pytest.mark.parametrize("op", ["InstanceNormalization", "GroupNormalization <num_groups=2>"])
@pytest.mark.parametrize("sizes", [(3, 6), (6, 3), (6, 7)], ids=str)
def test_norms_of_channels_refuse_parameters_of_another_size(op: str, sizes: tuple[int, int]) -> None:
    model = compiled(
        "agraph (float[N, C, L] x, float[S] scale, float[B] bias) => (float[N, C, L] y)"
        f"{{ y = {op} (x, scale, bias) }}"
    )
    x = np.arange(24, dtype=np.float32).reshape(1, 6, 4)
    assert np.isfinite(model(x, np.ones(6, np.float32), np.ones(6, np.float32))[0]).all()
    with pytest.raises(OnnxloomError, match="does not have an element per channel"):
        model(x, *(np.ones(size, np.float32) for size in sizes))
    assert model.host_steps == 0


def test_groups_of_different_sizes_are_refused() -> None:
    model = compiled(
        "agraph (float[N, C, L] x, float[C] scale) => (float[N, C, L] y)"
        "{ y = GroupNormalization <num_groups=4> (x, scale, scale) }"
    )
    assert np.isfinite(model(np.ones((1, 8, 3), np.float32), np.ones(8, np.float32))[0]).all()
    with pytest.raises(OnnxloomError, match="the channels are not 4 groups of one size"):
        model(np.ones((1, 6, 3), np.float32), np.ones(6, np.float32))


def test_a_bias_of_another_size_than_the_channels_is_refused() -> None:
    model = compiled(
        "agraph (float[1, 2, 4] x, float[2, 3, 2] w, float[B] b) => (float[1, 3, L] y)"
        "{ y = ConvTranspose <kernel_shape=[2]> (x, w, b) }"
    )
    x, weights = np.ones((1, 2, 4), np.float32), np.ones((2, 3, 2), np.float32)
    assert model(x, weights, np.zeros(3, np.float32))[0].shape == (1, 3, 5)
    with pytest.raises(OnnxloomError, match="the bias does not have an element for each of 3 channels"):
        model(x, weights, np.zeros(2, np.float32))
    assert model.host_steps == 0
