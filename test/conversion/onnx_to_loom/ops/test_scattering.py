"""Do updates arrive where the indices say, whatever joins them, and nowhere else?"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from against_peers import check_peers
from lowering_reasons import Case, check, reason_of, tensors
from numerics import Array
from text_models import compiled

from onnxloom.errors import InputError

RNG = np.random.default_rng(3)
REDUCTIONS = ["none", "add", "mul", "max", "min"]


def numbers(shape: tuple[int, ...], dtype: str = "float32") -> Array:
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    return RNG.integers(0 if dtype.startswith("u") else -5, 6, shape).astype(dtype)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "int64", "float16"])
def test_elements_join_in_any_type(dtype: str, reduction: str) -> None:
    data, indices = numbers((4, 5), dtype), RNG.integers(-5, 5, (3, 7))[:, :6]
    indices = np.where(indices < -4, 0, indices)
    updates = numbers((3, 6), dtype)
    runtime = dtype != "float16" or reduction == "none"
    check_peers(
        "ScatterElements", [numbers((4, 9), dtype), indices, updates], dynamic=[True], axis=1,
        reduction=reduction, runtime=runtime,
    )  # fmt: skip
    del data


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16"])
def test_slices_join_in_any_type(dtype: str, reduction: str) -> None:
    data, updates = numbers((4, 5, 3), dtype), numbers((6, 3), dtype)
    indices = np.stack([RNG.integers(-4, 4, 6), RNG.integers(-5, 5, 6)], 1)
    runtime = dtype != "float16" or reduction == "none"
    check_peers("ScatterND", [data, indices, updates], dynamic=[True], reduction=reduction, runtime=runtime)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_booleans(reduction: str) -> None:
    data, updates = numbers((8,), "bool"), numbers((5,), "bool")
    indices = np.array([[0], [3], [3], [-1], [5]])
    want = data.copy()
    join = {"add": np.logical_or, "max": np.logical_or, "mul": np.logical_and, "min": np.logical_and}
    for i, u in zip(indices[:, 0], updates, strict=True):
        want[i] = join[reduction](want[i], u) if reduction in join else u
    for name, places in (("ScatterND", indices), ("ScatterElements", indices[:, 0])):
        check_peers(
            name, [data, places, updates], want=[want], host=False, runtime=False, reduction=reduction
        )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_bfloat16(reduction: str) -> None:
    data, updates = (RNG.standard_normal(n).astype(ml_dtypes.bfloat16) for n in (6, 4))
    indices = np.array([1, -2, 1, 5])
    want = data.copy()
    join = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for i, u in zip(indices, updates, strict=True):
        want[i] = join[reduction](want[i], u) if reduction in join else u
    check_peers(
        "ScatterElements",
        [data, indices, updates],
        want=[want],
        host=False,
        runtime=False,
        reduction=reduction,
    )


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_elements_along_any_axis(axis: int) -> None:
    data = numbers((3, 4, 5))
    indices = RNG.integers(-3, 3, (2, 3, 4)).astype(np.int32)
    check_peers("ScatterElements", [data, indices, numbers((2, 3, 4))], axis=axis)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_slices_of_any_rank(depth: int) -> None:
    data = numbers((3, 4, 5))
    indices = np.stack([RNG.integers(-d, d, (2, 3)) for d in data.shape[:depth]], -1)
    check_peers("ScatterND", [data, indices, numbers((2, 3, *data.shape[depth:]))])
    check_peers("ScatterND", [data, indices, numbers((2, 3, *data.shape[depth:]))], constants=[1])


def test_no_updates() -> None:
    data = numbers((3, 4))
    check_peers("ScatterElements", [data, np.zeros((0, 4), np.int64), np.zeros((0, 4), np.float32)])
    check_peers("ScatterND", [data, np.zeros((0, 1), np.int64), np.zeros((0, 4), np.float32)])
    check_peers("ScatterND", [data[:, :0], np.zeros((2, 1), np.int64), np.zeros((2, 0), np.float32)])


def test_nan_is_kept_by_extremes() -> None:
    data = np.array([np.nan, 1, 2], np.float32)
    updates = np.array([5, np.nan, 3], np.float32)
    for reduction, last in (("max", 3), ("min", 2)):
        want = np.array([np.nan, np.nan, last], np.float32)
        check_peers(
            "ScatterElements", [data, np.arange(3), updates], want=[want], host=False, runtime=False,
            reduction=reduction,
        )  # fmt: skip


def test_the_data_stay_as_they_were_where_they_are_read_again() -> None:
    model = compiled("""agraph (float[N] x, int64[K] i, float[K] u) => (float[N] y, float[N] z) {
        r = Relu(x)
        y = ScatterElements <axis = 0> (r, i, u)
        z = Neg(r)
    }""")
    y, z = model(np.ones(3, np.float32), np.array([1]), np.array([5], np.float32))
    assert y.tolist() == [1, 5, 1]
    assert z.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("index", [3, -4, 2**40])
def test_an_index_out_of_range_is_refused(index: int) -> None:
    elements = compiled(
        "agraph (float[N, M] x, int64[K, L] i, float[K, L] u) => (float[N, M] y) {"
        "y = ScatterElements <axis = 0> (x, i, u) }"
    )
    slices = compiled(
        "agraph (float[N, M] x, int64[K, 1] i, float[K, M] u) => (float[N, M] y) { y = ScatterND(x, i, u) }"
    )
    x, i = np.ones((3, 2), np.float32), np.array([[0], [index]])
    with pytest.raises(InputError, match=f"ScatterElements: index {index} is out of range for a dim of 3"):
        elements(x, i, np.ones((2, 1), np.float32))
    with pytest.raises(InputError, match=f"ScatterND: index {index} is out of range for a dim of 3"):
        slices(x, i, np.ones((2, 2), np.float32))


def test_updates_that_do_not_fit_are_refused() -> None:
    elements = compiled(
        "agraph (float[N, M] x, int64[K, L] i, float[A, B] u) => (float[N, M] y) {"
        "y = ScatterElements <axis = 0> (x, i, u) }"
    )
    x = np.ones((3, 2), np.float32)
    with pytest.raises(InputError, match="dim 1 of the updates is not that of the indices"):
        elements(x, np.zeros((1, 2), np.int64), x[:1, :1])
    with pytest.raises(InputError, match="dim 1 of the indices is larger than that of the data"):
        elements(x, np.zeros((1, 3), np.int64), np.ones((1, 3), np.float32))
    slices = compiled(
        "agraph (float[N, M] x, int64[K, L] i, float[A, B] u) => (float[N, M] y) { y = ScatterND(x, i, u) }"
    )
    with pytest.raises(InputError, match="index tuples have to have a length of 1"):
        slices(x, np.zeros((1, 2), np.int64), x[:1])
    with pytest.raises(InputError, match="dim 0 of the updates does not fit indices and data"):
        slices(x, np.zeros((1, 1), np.int64), x)
    with pytest.raises(InputError, match="dim 1 of the updates does not fit indices and data"):
        slices(x, np.zeros((1, 1), np.int64), x[:1, :1])


RANKS = "data, indices and updates of different ranks have no kernel"
UPDATES = "updates of a rank that does not fit data and indices have no kernel"


def elements(data: str, indices: str, updates: str, attributes: str = "") -> Case:
    operands = [*tensors(data), f"tensor<{indices}i64>", *tensors(updates)]
    return ("ScatterElements", operands, attributes, tensors(data))


def slices(data: str, indices: str, updates: str) -> Case:
    tuples = f"{indices}x" if indices else ""
    return ("ScatterND", [*tensors(data), f"tensor<{tuples}i64>", *tensors(updates)], "", tensors(data))


REASONS: dict[str, tuple[Case, str | None]] = {
    "fits": (elements("4", "2x", "2"), None),
    "reduction": (elements("4", "2x", "2", 'reduction = "mean"'), "a reduction 'mean' has no kernel"),
    "scalars": (elements("", "", ""), RANKS),
    "rank of indices": (elements("4", "2x2x", "2"), RANKS),
    "rank of updates": (elements("4", "2x", "2x2"), RANKS),
    "slices": (slices("4x3", "2x1", "2x3"), None),
    "tuples of any length": (slices("4x3", "2x?", "2x3"), None),
    "updates of a high rank": (slices("4x3", "2x1", "2x3x1"), UPDATES),
    "updates of a low rank": (slices("4x3", "2x2x1", "2"), UPDATES),
    "no tuples": (slices("4x3", "", "2"), UPDATES),
}


@check(REASONS)
def test_reasons(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
