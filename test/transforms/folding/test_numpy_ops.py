"""What numpy evaluates has the bits that the host implementations give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from single_ops import op_of
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.dtypes import element_of_dtype
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.evaluator import CannotEvaluate, NumpyEvaluator, numpy_ops

Array = np.ndarray[Any, Any]

_FLOATS = (np.float16, np.float32, np.float64)
_SIGNED = (np.int8, np.int16, np.int32, np.int64)
_UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
_NARROW = (
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.int4,
    ml_dtypes.uint4,
)


def values(dtype: Any, seed: int = 0) -> Array:
    """[3, 8]: every special value of the type and random ones."""
    kind = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if kind == np.bool_:
        return rng.integers(0, 2, (3, 8)).astype(np.bool_)
    if kind == np.object_:
        return np.array([f"s{n}" for n in rng.integers(0, 9, 24)], object).reshape(3, 8)
    if kind in map(np.dtype, (*_SIGNED, *_UNSIGNED)):
        limits = np.iinfo(kind)
        special = [limits.min, limits.max, 0, 1, limits.max - 1, 2, 3, 7]
        rest = rng.integers(limits.min, limits.max, 16, dtype=kind, endpoint=True)
        return np.concatenate([np.array(special, kind), rest]).reshape(3, 8)
    if kind in map(np.dtype, (ml_dtypes.int4, ml_dtypes.uint4)):
        return rng.integers(0, 7, (3, 8)).astype(np.int8).astype(kind)
    special = [np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 6e-8, 65504.0]
    return rng.permutation(np.array([*special, *rng.standard_normal(12)])).reshape(3, 8).astype(kind)


def bits(array: Array) -> Any:
    if array.dtype == np.object_:
        return array.tolist()
    return np.ascontiguousarray(array).tobytes()


def assert_as_host(op: Operation, inputs: Sequence[Array | None]) -> None:
    ours = NumpyEvaluator().evaluate(op, inputs)
    theirs = HostEvaluator(native=False).evaluate(op, inputs)
    assert len(ours) == len(theirs) == len(op.results)
    for one, other in zip(ours, theirs, strict=True):
        assert one is not None and other is not None
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind == "f":  # which NaN it is depends on the machine
            nan = np.isnan(one)
            np.testing.assert_array_equal(nan, np.isnan(other))
            one, other = np.where(nan, 0, one), np.where(nan, 0, other)
        assert bits(one) == bits(other)


def declined(op: Operation, inputs: Sequence[Array | None]) -> str:
    with pytest.raises(CannotEvaluate) as caught:
        NumpyEvaluator().evaluate(op, inputs)
    return str(caught.value)


_ARITHMETIC = (onnx.AddOp, onnx.SubOp, onnx.MulOp, onnx.MinOp, onnx.MaxOp)
_COMPARISONS = (onnx.EqualOp, onnx.LessOp, onnx.LessOrEqualOp, onnx.GreaterOp, onnx.GreaterOrEqualOp)


@pytest.mark.parametrize("dtype", [*_FLOATS, *_SIGNED, *_UNSIGNED])
@pytest.mark.parametrize("op_class", [*_ARITHMETIC, *_COMPARISONS])
def test_binary_ops_wrap_round_and_keep_nan(op_class: type[Operation], dtype: Any):
    inputs = [values(dtype), values(dtype, 1)[:1]]
    result = np.bool_ if op_class in _COMPARISONS else None
    assert_as_host(op_of(op_class, inputs, (result,)), inputs)


@pytest.mark.parametrize("dtype", [*_FLOATS, *_SIGNED, *_UNSIGNED])
def test_division_truncates(dtype: Any):
    left, right = values(dtype), values(dtype, 1)
    if right.dtype.kind in "iu":
        right[right == 0] = 3
    assert_as_host(op_of(onnx.DivOp, [left, right]), [left, right])


def test_division_of_an_integer_by_zero_is_nobodys():
    inputs = [np.array([1, 2]), np.array([1, 0])]
    assert "divided by zero" in declined(op_of(onnx.DivOp, inputs), inputs)


@pytest.mark.parametrize("dtype", [*_FLOATS, *_SIGNED])
@pytest.mark.parametrize("op_class", [onnx.NegOp, onnx.AbsOp, onnx.SignOp])
def test_signs(op_class: type[Operation], dtype: Any):
    assert_as_host(op_of(op_class, [values(dtype)]), [values(dtype)])


@pytest.mark.parametrize("dtype", _FLOATS)
@pytest.mark.parametrize("op_class", [onnx.SqrtOp, onnx.FloorOp, onnx.CeilOp, onnx.RoundOp, onnx.IsNaNOp])
def test_floats_round_half_to_even(op_class: type[Operation], dtype: Any):
    result = np.bool_ if op_class is onnx.IsNaNOp else None
    assert_as_host(op_of(op_class, [values(dtype)], (result,)), [values(dtype)])


@pytest.mark.parametrize("op_class", [onnx.AndOp, onnx.OrOp, onnx.XorOp])
def test_truth_values(op_class: type[Operation]):
    inputs = [values(np.bool_), values(np.bool_, 1)]
    assert_as_host(op_of(op_class, inputs), inputs)
    assert_as_host(op_of(onnx.NotOp, inputs[:1]), inputs[:1])


@pytest.mark.parametrize("dtype", [*_SIGNED, *_UNSIGNED])
@pytest.mark.parametrize("op_class", [onnx.BitwiseAndOp, onnx.BitwiseOrOp, onnx.BitwiseXorOp])
def test_bits(op_class: type[Operation], dtype: Any):
    inputs = [values(dtype), values(dtype, 1)]
    assert_as_host(op_of(op_class, inputs), inputs)
    assert_as_host(op_of(onnx.BitwiseNotOp, inputs[:1]), inputs[:1])


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("op_class", [onnx.MinOp, onnx.MaxOp, onnx.SumOp])
def test_variadic_ops_go_from_left_to_right(op_class: type[Operation], count: int):
    inputs = [values(np.float32, seed) for seed in range(count)]
    assert_as_host(op_of(op_class, inputs), inputs)


@pytest.mark.parametrize("dtype", [*_FLOATS, np.int64, np.object_, ml_dtypes.bfloat16])
def test_where(dtype: Any):
    inputs = [values(np.bool_), values(dtype), values(dtype, 1)[:1]]
    assert_as_host(op_of(onnx.WhereOp, inputs, (dtype,)), inputs)


@pytest.mark.parametrize("source", [*_FLOATS, *_SIGNED, *_UNSIGNED, np.bool_])
@pytest.mark.parametrize("target", [*_FLOATS, *_SIGNED, *_UNSIGNED, np.bool_])
def test_casts(source: Any, target: Any):
    from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_PROTO

    array = values(source)
    if array.dtype.kind == "f" and np.dtype(target).kind in "iu":
        array = np.array([[-0.0, 0.5, 1.5, 99.9]], source)
    to = ELEMENT_TO_PROTO[element_of_dtype(np.dtype(target))]
    assert_as_host(op_of(onnx.CastOp, [array], (target,), to=to), [array])
    like = np.zeros(1, target)
    assert_as_host(op_of(onnx.CastLikeOp, [array, like], (target,)), [array, like])


@pytest.mark.parametrize("array", [[np.nan], [np.inf], [-1.0], [256.0], [-np.inf]])
def test_floats_beyond_an_integer_type_are_not_numpys(array: list[float]):
    inputs = [np.array(array, np.float32)]
    assert "element types" in declined(op_of(onnx.CastOp, inputs, (np.uint8,), to=2), inputs)


@pytest.mark.parametrize("dtype", _NARROW)
def test_arithmetic_on_narrow_types_is_not_numpys(dtype: Any):
    inputs = [values(dtype), values(dtype)]
    assert "element types" in declined(op_of(onnx.AddOp, inputs), inputs)
    assert "element types" in declined(op_of(onnx.CastOp, inputs[:1], (np.float32,), to=1), inputs[:1])
    floats = [values(np.float32)]
    to = {ml_dtypes.bfloat16: 16, ml_dtypes.float8_e4m3fn: 17, ml_dtypes.float8_e5m2: 19}.get(dtype)
    if to is not None:
        assert "element types" in declined(op_of(onnx.CastOp, floats, (dtype,), to=to), floats)


def test_types_that_differ_are_not_mixed():
    inputs = [np.ones(2, np.float32), np.ones(2, np.float64)]
    assert "element types" in declined(op_of(onnx.AddOp, inputs), inputs)
    assert "element types" in declined(op_of(onnx.DivOp, inputs), inputs)
    assert "element types" in declined(op_of(onnx.SumOp, inputs), inputs)
    mixed = [np.ones(2, np.bool_), *inputs]
    assert "element types" in declined(op_of(onnx.WhereOp, mixed), mixed)


def test_integers_are_no_floats():
    assert "element types" in declined(op_of(onnx.FloorOp, [np.ones(2, np.int64)]), [np.ones(2, np.int64)])


_ALL = (*_FLOATS, np.int64, np.uint8, np.bool_, np.object_, *_NARROW)


@pytest.mark.parametrize("dtype", _ALL)
def test_movement_keeps_elements_of_every_type(dtype: Any):
    array = values(dtype)
    cases: list[tuple[type[Operation], list[Array | None], dict[str, Any]]] = [
        (onnx.IdentityOp, [array], {}),
        (onnx.ReshapeOp, [array, np.array([0, 2, -1])], {}),
        (onnx.FlattenOp, [array], {"axis": -1}),
        (onnx.TransposeOp, [array], {}),
        (onnx.TransposeOp, [array], {"perm": [1, 0]}),
        (onnx.UnsqueezeOp, [array, np.array([0, -1])], {}),
        (onnx.SqueezeOp, [array[:1], np.array([0])], {}),
        (onnx.SqueezeOp, [array[:1], None], {}),
        (onnx.ConcatOp, [array, array[:1]], {"axis": 0}),
        (onnx.GatherOp, [array, np.array([[0, -1], [1, 1]])], {"axis": 1}),
        (onnx.SliceOp, [array, np.array([1]), np.array([-1]), np.array([-1]), None], {}),
        (onnx.SliceOp, [array, np.array([-1, 9]), np.array([-9, -99]), None, np.array([-1, -2])], {}),
        (onnx.ExpandOp, [array, np.array([2, 1, 1])], {}),
        (onnx.TileOp, [array, np.array([2, 1])], {}),
    ]
    for op_class, inputs, attributes in cases:
        assert_as_host(op_of(op_class, inputs, **attributes), inputs)


@pytest.mark.parametrize(
    ("lengths", "count", "attributes"),
    [(np.array([1, 0, 7]), 3, {}), (None, 2, {}), (None, 3, {"num_outputs": 3})],
)
def test_split_of_even_uneven_and_empty_parts(lengths: Any, count: int, attributes: Any):
    inputs = [values(np.int32), lengths]
    assert_as_host(op_of(onnx.SplitOp, inputs, (None,) * count, axis=-1, **attributes), inputs)


def test_reshape_with_allowzero():
    array = np.zeros((0, 3), np.float32)
    inputs = [array, np.array([3, 0])]
    assert_as_host(op_of(onnx.ReshapeOp, inputs, allowzero=1), inputs)


@pytest.mark.parametrize("bounds", [{}, {"start": -2}, {"start": 1, "end": -1}, {"end": 9}, {"start": -9}])
def test_shapes(bounds: dict[str, int]):
    array = np.zeros((3, 4, 5), np.float32)
    assert_as_host(op_of(onnx.ShapeOp, [array], (np.int64,), **bounds), [array])


def test_generators():
    array = np.zeros((3, 4), np.float32)
    assert_as_host(op_of(onnx.SizeOp, [array], (np.int64,)), [array])
    shape = np.array([2, 0, 3])
    assert_as_host(op_of(onnx.ConstantOfShapeOp, [shape], (np.float32,)), [shape])
    shape, fill = np.array([2, 3]), onnx.constant_attr(np.array([7], np.int16))
    assert_as_host(op_of(onnx.ConstantOfShapeOp, [shape], (np.int16,), value=fill), [shape])
    fill = onnx.constant_attr(np.array(["a"], object))
    filled = NumpyEvaluator().evaluate(
        op_of(onnx.ConstantOfShapeOp, [shape], (np.object_,), value=fill), [shape]
    )
    assert filled[0] is not None and filled[0].tolist() == [["a"] * 3] * 2
    for dtype in (np.int16, np.int32, np.int64):
        for start, limit, delta in ((0, 7, 2), (5, -6, -3), (3, 3, 1)):
            inputs = [np.array(n, dtype) for n in (start, limit, delta)]
            assert_as_host(op_of(onnx.RangeOp, inputs), inputs)


def test_one_dim_of_a_shape():
    op = op_of(onnx.DimOp, [np.zeros((3, 4))], (np.int64,), axis=1)
    assert NumpyEvaluator().evaluate(op, [np.zeros((3, 4))])[0] == [4]


def test_a_range_of_floats_is_not_numpys():
    inputs = [np.array(n, np.float32) for n in (0, 1, 0.1)]
    assert "element types" in declined(op_of(onnx.RangeOp, inputs), inputs)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64, np.float32])
@pytest.mark.parametrize("axes", [None, np.array([-1]), np.array([0, 1])])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(dtype: Any, axes: Any, keepdims: int):
    inputs = [values(dtype), axes]
    sums = () if dtype == np.float32 else (onnx.ReduceSumOp, onnx.ReduceProdOp)
    for op_class in (*sums, onnx.ReduceMaxOp, onnx.ReduceMinOp):
        assert_as_host(op_of(op_class, inputs, keepdims=keepdims), inputs)


@pytest.mark.parametrize(
    ("array", "attributes"),
    [
        (np.zeros((0, 2), np.int64), {}),
        (np.zeros((1, 2), np.bool_), {}),
        (np.zeros((1, 2), np.float32), {}),
        (np.zeros((1, 2), np.int64), {"noop_with_empty_axes": 1}),
        (np.zeros((1, 2), ml_dtypes.bfloat16), {}),
    ],
)
def test_reductions_that_are_not_numpys(array: Array, attributes: dict[str, Any]):
    inputs = [array, None]
    assert "element types" in declined(op_of(onnx.ReduceSumOp, inputs, **attributes), inputs)


_WRONG: list[tuple[type[Operation], list[Array | None], dict[str, Any], str]] = [
    (onnx.ReshapeOp, [np.ones(3), np.array([2])], {}, "reshape"),
    (onnx.ReshapeOp, [np.ones(3), np.array([0, 0])], {}, "index"),
    (onnx.ReshapeOp, [np.ones(3), None], {}, "input 1 is left out"),
    (onnx.FlattenOp, [np.ones(3)], {"axis": 2}, "axis 2 is outside"),
    (onnx.GatherOp, [np.ones(3), np.array([3])], {"axis": 0}, "out of bounds"),
    (onnx.SliceOp, [np.ones(3), np.array([0]), np.array([1]), np.array([1]), None], {}, "axis 1 is outside"),
    (onnx.SplitOp, [np.ones(3), np.array([1, 1])], {"axis": 0}, "does not split"),
    (onnx.SplitOp, [np.ones(3), np.array([4, -1])], {"axis": 0}, "does not split"),
    (onnx.SplitOp, [np.ones(3), np.array([3])], {"axis": -2}, "axis -2 is outside"),
    (onnx.TileOp, [np.ones(3), np.array([1, 1])], {}, "2 repeats"),
    (onnx.AddOp, [np.ones(3), np.ones(2)], {}, "broadcast"),
]


@pytest.mark.parametrize(("op_class", "inputs", "attributes", "reason"), _WRONG)
def test_wrong_inputs_are_declined(
    op_class: type[Operation], inputs: list[Array | None], attributes: Any, reason: str
):
    results = (None, None) if op_class is onnx.SplitOp else (None,)
    assert reason in declined(op_of(op_class, inputs, results, **attributes), inputs)


def test_other_ops_are_not_numpys():
    assert declined(op_of(onnx.SinOp, [np.ones(3)]), [np.ones(3)]) == "numpy has nothing for onnx.Sin"


def test_every_op_of_the_table_is_one_of_the_dialect():
    assert len(numpy_ops()) > 40
    assert all(op_class.name.startswith("onnx.") for op_class in numpy_ops())


def test_two_functions_for_an_op_are_a_mistake(monkeypatch: pytest.MonkeyPatch):
    from onnxloom.transforms.folding import numpy_ops_reductions

    monkeypatch.setitem(numpy_ops_reductions.OPS, onnx.AddOp, lambda op, inputs: None)
    numpy_ops.cache_clear()
    with pytest.raises(TypeError, match="a second function"):
        numpy_ops()
    monkeypatch.undo()
    assert numpy_ops()[onnx.AddOp]


def test_a_cast_to_the_same_type_is_of_every_type():
    array = values(ml_dtypes.bfloat16)
    result = NumpyEvaluator().evaluate(op_of(onnx.CastOp, [array], to=16), [array])[0]
    assert result is not None and bits(result) == bits(array)
