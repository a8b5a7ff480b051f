"""Made-up inputs: seeded, of every type, with special values, and valid where they are indices."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from text_models import model_of

from onnxloom.errors import InputError
from onnxloom.testing import feeds_for, varied_feeds
from onnxloom.testing.values import Values, special_floats

NARROW = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn]
FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]


def made(shape: list[int], dtype: np.dtype[Any], **options: Any) -> Any:
    return Values(np.random.default_rng(0), **options).array(shape, dtype)


def of(graph: str, **options: Any) -> dict[str, Any]:
    return feeds_for(model_of(graph), **options)


def test_feeds_are_seeded() -> None:
    graph = "agraph (float[8, 8] x, string[4] s) => (float[8, 8] y) { y = Neg(x) }"
    one, same, other = of(graph, seed=1), of(graph, seed=1), of(graph, seed=2)
    np.testing.assert_array_equal(one["x"], same["x"])
    np.testing.assert_array_equal(one["s"], same["s"])
    assert not np.array_equal(one["x"], other["x"], equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_floats_are_among_large_inputs(dtype: Any) -> None:
    array = made([400], np.dtype(dtype))
    wide = array.astype(np.float64)
    info: Any = ml_dtypes.finfo(dtype)
    assert np.isnan(wide).any() and np.isposinf(wide).any() and np.isneginf(wide).any()
    assert (np.signbit(wide) & (wide == 0)).any()
    assert (wide == float(info.smallest_subnormal)).any()
    assert (wide == float(info.max)).any()
    assert np.isfinite(wide).mean() > 0.9


def test_ordinary_values_are_finite() -> None:
    array = made([400], np.dtype(np.float32), special=False)
    assert np.isfinite(array).all()
    assert array.min() < -1 and array.max() > 1
    unsigned = made([400], np.dtype(ml_dtypes.float8_e8m0fnu), special=False)
    assert np.isfinite(unsigned.astype(np.float32)).all()


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_have_what_their_type_has(dtype: Any) -> None:
    assert special_floats(np.dtype(dtype)).dtype == dtype
    assert made([3, 5], np.dtype(dtype)).shape == (3, 5)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, ml_dtypes.int4])
def test_integers_reach_their_extremes(dtype: Any) -> None:
    array = made([400], np.dtype(dtype))
    info: Any = ml_dtypes.iinfo(dtype)
    assert {int(info.min), int(info.max)} <= {int(value) for value in array}


@pytest.mark.parametrize("dtype", [np.bool_, np.complex64, np.object_])
def test_other_types(dtype: Any) -> None:
    array = made([40], np.dtype(dtype))
    assert array.dtype == dtype
    assert len(set(array.tolist())) > 1


def test_special_values_leave_most_elements_ordinary() -> None:
    array = made([4], np.dtype(np.float32))
    ordinary = made([4], np.dtype(np.float32), special=False)
    assert np.count_nonzero(array == ordinary) == 3
    nan = made([4], np.dtype(np.float32), turn=1)
    assert np.isnan(array).sum() == 0 and np.isnan(nan).sum() == 1
    assert made([0], np.dtype(np.float32)).shape == (0,)


def test_one_name_is_one_size_and_dims_without_a_name_agree() -> None:
    feeds = of(
        "agraph (float[N, M] a, float[M, N] b, float[?, 3] c, float[?] d) => (float[N] y) { y = Neg(d) }"
    )
    assert feeds["a"].shape == feeds["b"].shape[::-1]
    assert feeds["c"].shape == (feeds["d"].shape[0], 3)


def test_dims_are_given_by_name_or_place() -> None:
    graph = "agraph (float[N, M] a, float[?] d) => (float[N] y) { y = Neg(d) }"
    feeds = of(graph, dims={"N": 0, "a:1": 7, "?": 9})
    assert feeds["a"].shape == (0, 7)
    assert feeds["d"].shape == (9,)


def test_varied_feeds_have_a_case_of_ones_and_an_empty_one() -> None:
    cases = list(varied_feeds(model_of("agraph (float[N, M] a) => (float[N, M] y) { y = Neg(a) }")))
    shapes = [case["a"].shape for case in cases]
    assert (1, 1) in shapes
    assert any(0 in shape for shape in shapes)
    assert len(list(varied_feeds(model_of("agraph (float[2] a) => (float[2] y) { y = Neg(a) }")))) == 3


@pytest.mark.parametrize(
    "node",
    [
        "y = Gather(x, i)",
        "j = Abs(i) y = Gather(x, j)",
        "s = Concat <axis = 0> (i, i) y = Expand(x, s)",
        "y = ReduceSum(x, i)",
        "f = Cast <to = 1> (i) j = Cast <to = 7> (f) y = Gather(x, j)",
    ],
)
def test_integers_that_become_indices_are_small(node: str) -> None:
    feeds = of(f"agraph (float[9, 9] x, int64[64] i) => (float[A, B] y) {{ {node} }}")
    assert set(feeds["i"].tolist()) == {0, 1}


def test_the_trips_of_a_loop_are_few() -> None:
    loop = """y = Loop <body = b (int64 k, bool c, float[2] a) => (bool go, float[2] d) {
      go = Identity(c) d = Neg(a) }> (i, yes, x)"""
    graph = f"agraph (float[2] x, int64 i) => (float[2] y) <bool yes = {{1}}> {{ {loop} }}"
    assert {int(of(graph, seed=seed)["i"]) for seed in range(8)} <= {0, 1}


def test_strings_are_empty_only_when_special() -> None:
    kind = np.dtype(np.object_)
    assert "" in made([100], kind).tolist()
    assert "" not in made([100], kind, special=False).tolist()


def test_optional_inputs_hold_a_value() -> None:
    graph = "agraph (optional(float[3]) o) => (bool y) { y = OptionalHasElement(o) }"
    assert of(graph)["o"].shape == (3,)


def test_an_input_of_unknown_rank_is_a_vector() -> None:
    text = "func.func @main_graph(%x: tensor<*xf32>) -> tensor<*xf32> { onnx.Return %x : tensor<*xf32> }"
    assert feeds_for(text, dims={"?": 7})["arg0"].shape == (7,)


def test_an_input_whose_shape_alone_decides_holds_anything() -> None:
    feeds = of("agraph (int64[64] i, float[64] x) => (float[A] y) { s = Shape(i) y = Reshape(x, s) }")
    assert feeds["i"].min() < -50


def test_divisors_are_positive_and_other_integers_are_not() -> None:
    feeds = of("agraph (int64[64] a, int64[64] i) => (int64[64] y) { y = Div(a, i) }")
    assert feeds["i"].min() > 0
    assert feeds["a"].min() < 0
    assert of("agraph (int64[64] i) => (int64[64] y) { y = Add(i, i) }")["i"].min() < -100


def test_sequences_are_lists() -> None:
    feeds = of("agraph (seq(float[N]) s) => (int64 y) { y = SequenceLength(s) }")
    assert [type(item) for item in feeds["s"]] == [np.ndarray, np.ndarray]
    model = model_of("agraph (seq(float[N]) s) => (int64 y) { y = SequenceLength(s) }")
    assert len(list(varied_feeds(model))) == 3


def test_a_map_cannot_be_made_up() -> None:
    with pytest.raises(InputError, match="input 'm' is a .*cannot be made up"):
        of("agraph (map(int64, float) m) => (float[N] y) { y = ai.onnx.ml.CastMap(m) }")


def test_varied_feeds_have_a_case_of_equal_inputs() -> None:
    text = "agraph (float[2] a, float[2] b, float[3] c, int32[2] i) => (float[2] y) { y = Sub(a, b) }"
    cases = list(varied_feeds(model_of(text)))
    assert len(cases) == 4
    assert [case["a"] is case["b"] for case in cases] == [False, False, False, True]
    assert cases[3]["c"].shape == (3,) and cases[3]["i"].dtype == np.int32
