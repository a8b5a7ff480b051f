"""Does each row of the scalar table compute what the ONNX reference computes, for every element type?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper as oh
import pytest
from kernel_interpreter import Interpreter, dtype_of
from onnx.defs import onnx_opset_version
from onnx.reference import ReferenceEvaluator
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.dtypes import element_of_dtype, proto_of_element
from onnxloom.dialects.onnx.semantics import Scalars, scalar_semantics
from onnxloom.dialects.onnx.semantics.scalars import storage_type

Array = np.ndarray[Any, Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
NUMBERS = (*FLOATS, *SIGNED, *UNSIGNED)


def dtype(name: str) -> np.dtype[Any]:
    return BF16 if name == "bfloat16" else np.dtype(name)


def samples(name: str) -> Array:
    """Special and ordinary values of a type."""
    d = dtype(name)
    if name == "bool":
        return np.array([False, True])
    if name in FLOATS:
        info = ml_dtypes.finfo(d)
        special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 3.0, 100.0, -100.0, 7.25, -6.5]
        with np.errstate(all="ignore"):
            values = np.array([*special, np.inf, -np.inf, np.nan], np.float64).astype(d)
            ends = np.array([info.max, info.min, info.tiny, info.smallest_subnormal], d)
        return np.concatenate([values, ends])
    info = np.iinfo(d)
    return np.array([0, 1, 2, 3, 5, 7, 10, 63, 100, info.max, info.max - 1, info.min, info.min + 1]
                    + ([-1, -2, -3, -7, -10] if info.min < 0 else []), d)  # fmt: skip


def pairs(*columns: Array) -> list[Array]:
    """Every combination of the columns' values."""
    return [g.reshape(-1) for g in np.meshgrid(*columns, indexing="ij")]


def ours(name: str, inputs: Sequence[Array], result: np.dtype[Any], **attrs: Any) -> Array | None:
    """The op through the scalar table; None when it has no row for these types."""
    op_class = onnx.OPS_BY_NAME[("", name)]
    block = Block(arg_types=[TensorType(element_of_dtype(x.dtype), [x.size]) for x in inputs])
    result_type = TensorType(element_of_dtype(result), [inputs[0].size])
    results = [result_type] * (2 if name == "Dropout" else 1)
    op = make(op_class, list(block.args), results, **attrs)
    row = scalar_semantics(op)
    if row is None:
        return None
    stored = [storage_type(element_of_dtype(x.dtype)) for x in inputs]
    code = Block(arg_types=stored)
    scalars = Scalars(Builder(InsertPoint.at_end(code)))
    value = row.emit(scalars, op, list(code.args))
    assert value.type == storage_type(element_of_dtype(result))
    signless = [x.view(dtype_of(t)) for x, t in zip(inputs, stored, strict=True)]
    run = Interpreter(dict(zip(code.args, signless, strict=True)))
    run.block(code)
    return np.broadcast_to(np.asarray(run.values[value]), inputs[0].shape).copy().view(result)


def reference(name: str, inputs: Sequence[Array], result: np.dtype[Any], **attrs: Any) -> Array:
    """The op through the reference evaluator."""
    names = [f"x{i}" for i in range(len(inputs))]
    node = oh.make_node(name, names, ["y"], **attrs)
    infos = [
        oh.make_tensor_value_info(n, proto_of_element(element_of_dtype(x.dtype)), x.shape)
        for n, x in zip(names, inputs, strict=True)
    ]
    out = oh.make_tensor_value_info("y", proto_of_element(element_of_dtype(result)), None)
    graph = oh.make_graph([node], "g", infos, [out])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", onnx_opset_version())])
    with np.errstate(all="ignore"):
        (y,) = ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))
    return np.asarray(y)


@dataclass(frozen=True)
class Case:
    """An op with the element types to try."""

    name: str
    types: Sequence[str] = FLOATS
    arity: int = 1
    result: str | None = None
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    ulps: float = 4.0
    """Tolerance in units of the result type's epsilon, relative; 0 for bit-equal."""
    skip: str = ""
    """`zero`: no zero divisors; `shift`: amounts below the width; `finite`: the reference multiplies by 0."""


CASES = [
    *[Case(n, NUMBERS, 2, ulps=0) for n in ("Add", "Sub", "Mul")],
    Case("Div", NUMBERS, 2, skip="zero", ulps=0),
    Case("Mod", (*SIGNED, *UNSIGNED), 2, skip="zero", ulps=0),
    Case("Mod", SIGNED, 2, skip="zero", attrs={"fmod": 1}, ulps=0),
    *[Case(n, NUMBERS, a, ulps=0) for n in ("Max", "Min") for a in (1, 2)],
    Case("Sum", FLOATS, 2, ulps=0),
    Case("Mean", ("float32", "float64"), 2),
    Case("Neg", (*FLOATS, *SIGNED), ulps=0),
    *[Case(n, NUMBERS, ulps=0) for n in ("Abs", "Sign")],
    *[Case(n, NUMBERS, 2, "bool", ulps=0)
      for n in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")],
    *[Case(n, ("bool",), 2, ulps=0) for n in ("And", "Or", "Xor", "Equal")],
    Case("Not", ("bool",), ulps=0),
    *[Case(n, (*SIGNED, *UNSIGNED), 2, ulps=0) for n in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")],
    Case("BitwiseNot", (*SIGNED, *UNSIGNED), ulps=0),
    *[Case("BitShift", UNSIGNED, 2, attrs={"direction": d}, skip="shift", ulps=0) for d in ("LEFT", "RIGHT")],
    Case("IsNaN", FLOATS, result="bool", ulps=0),
    *[Case("IsInf", ("float32", "float64"), result="bool", attrs=a, ulps=0)
      for a in ({}, {"detect_negative": 0}, {"detect_positive": 0})],
    *[Case(n, FLOATS, ulps=0) for n in ("Floor", "Ceil", "Round", "Sqrt", "Reciprocal")],
    Case("Identity", (*NUMBERS, "bool"), ulps=0),
    Case("Dropout", FLOATS, ulps=0),
    *[Case(n) for n in ("Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh",
                        "Asinh", "Acosh", "Atanh")],
    *[Case(n, ("float32", "float64")) for n in ("Sigmoid", "Softplus", "Softsign", "Mish")],
    Case("Erf", ("float32",)),
    *[Case("Gelu", ("float32",), attrs={"approximate": a}) for a in ("none", "tanh")],
    Case("HardSigmoid", ("float32", "float64")),
    Case("HardSwish", ("float32",)),
    Case("Swish", ("float32",)),
    Case("Swish", ("float32",), attrs={"alpha": 0.5}),
    Case("Relu", (*FLOATS, *SIGNED), ulps=0),
    Case("LeakyRelu", ("float32", "float64"), attrs={"alpha": 0.25}, ulps=0),
    Case("PRelu", ("float32", "float64"), 2, skip="finite", ulps=0),
    Case("Elu", ("float32", "float64"), attrs={"alpha": 2.0}),
    Case("Selu", ("float32", "float64")),
    Case("Celu", ("float32",), attrs={"alpha": 2.0}),
    Case("ThresholdedRelu", ("float32", "float64"), attrs={"alpha": 0.5}, ulps=0),
    Case("Shrink", ("float32", "float64"), attrs={"bias": 0.5, "lambd": 1.0}, ulps=0),
    Case("Clip", NUMBERS, 3, ulps=0),
]  # fmt: skip


def arguments(case: Case, type_name: str) -> list[Array]:
    columns = [samples(type_name)] * case.arity
    if case.arity == 3:
        columns = [columns[0], columns[0][:6], columns[0][:6]]
    args = pairs(*columns)
    keep = np.ones(args[0].shape, bool)
    if case.skip == "zero" and type_name not in FLOATS:
        keep &= args[1] != 0
        # The smallest integer divided by -1 is undefined in the reference.
        if type_name in SIGNED:
            keep &= ~((args[0] == np.iinfo(args[0].dtype).min) & (args[1] == -1))
    if case.skip == "finite":
        keep &= np.isfinite(args[0]) & np.isfinite(args[1])
    if case.skip == "shift":
        keep &= args[1] < args[1].dtype.itemsize * 8
    return [a[keep] for a in args]


def check(got: Array, want: Array, ulps: float) -> None:
    assert got.dtype == want.dtype
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    eps = float(ml_dtypes.finfo(got.dtype).eps)
    tiny = float(ml_dtypes.finfo(got.dtype).tiny)
    a, b = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_allclose(a, b, rtol=ulps * eps, atol=4 * tiny if ulps else 0, equal_nan=True)


@pytest.mark.parametrize(
    ("case", "type_name"),
    [pytest.param(c, t, id=f"{c.name}-{t}-{i}") for i, c in enumerate(CASES) for t in c.types],
)
def test_op_equals_reference(case: Case, type_name: str) -> None:
    args = arguments(case, type_name)
    result = dtype(case.result or type_name)
    got = ours(case.name, args, result, **case.attrs)
    assert got is not None, f"{case.name} has no row for {type_name}"
    clip = case.name == "Clip"
    if clip:
        want = np.minimum(args[2], np.maximum(args[0], args[1]))
    else:
        want = reference(case.name, args, result, **case.attrs)
    check(got, want, case.ulps)


def _castable(source: str, target: str) -> Array:
    """Values whose conversion is defined."""
    x = samples(source)
    if source not in FLOATS or target in (*FLOATS, "bool"):
        return x
    info = np.iinfo(dtype(target))
    wide = np.trunc(x.astype(np.float64))
    return x[(wide >= float(info.min)) & (wide < float(info.max)) & np.isfinite(wide)]


@pytest.mark.parametrize("source", (*NUMBERS, "bool"))
@pytest.mark.parametrize("target", (*NUMBERS, "bool"))
def test_cast_equals_numpy(source: str, target: str) -> None:
    x = _castable(source, target)
    to = proto_of_element(element_of_dtype(dtype(target)))
    got = ours("Cast", [x], dtype(target), to=to)
    assert got is not None
    with np.errstate(all="ignore"):
        want = x.astype(dtype(target)) if target != "bool" else x.astype(np.float64) != 0
    if source in FLOATS and target == "bool":
        want = want | np.isnan(x.astype(np.float64))
    np.testing.assert_array_equal(got.astype(np.float64), np.asarray(want).astype(np.float64))


@pytest.mark.parametrize("target", (*SIGNED, *UNSIGNED))
def test_cast_of_values_out_of_range_is_defined(target: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9], np.float32)
    to = proto_of_element(element_of_dtype(dtype(target)))
    assert ours("Cast", [x], dtype(target), to=to) is not None


def test_division_never_traps() -> None:
    for name in ("Div", "Mod"):
        for type_name in (*SIGNED, *UNSIGNED):
            a, b = pairs(samples(type_name), samples(type_name))
            assert ours(name, [a, b], a.dtype) is not None


@pytest.mark.parametrize("exponent", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("base", ["float16", "float32", "float64"])
def test_float_pow_equals_numpy(base: str, exponent: str) -> None:
    e = np.array([0, 1, 2, 3, -1, -2, 5], dtype(exponent))
    x, e = pairs(samples(base), e)
    got = ours("Pow", [x, e], x.dtype)
    assert got is not None
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), e.astype(np.float64)).astype(x.dtype)
    check(got, want, 4)


def test_integer_pow_wraps() -> None:
    x, e = pairs(samples("int32"), np.array([0, 1, 2, 3, 7, 31, 64, 100], np.int64))
    got = ours("Pow", [x, e], x.dtype)
    assert got is not None
    want = [pow(int(a), int(b), 2**32) for a, b in zip(x, e, strict=True)]
    np.testing.assert_array_equal(got.view(np.uint32), np.array(want, np.uint32))


@pytest.mark.parametrize("quantized", ["int8", "uint8", "int16", "uint16"])
def test_quantize_rounds_half_to_even_and_saturates(quantized: str) -> None:
    x = np.array([0.0, 0.25, 0.75, 1.25, -0.25, -0.75, 1e9, -1e9, np.inf, -np.inf, 3.3], np.float32)
    scale = np.full_like(x, 0.5)
    zero = np.full(x.shape, 3, dtype(quantized))
    got = ours("QuantizeLinear", [x, scale, zero], zero.dtype)
    assert got is not None
    info = np.iinfo(zero.dtype)
    want = np.clip(np.rint(x / 0.5) + 3, info.min, info.max).astype(zero.dtype)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("quantized", ["int8", "uint8", "int16", "uint16", "int32"])
def test_dequantize_equals_reference(quantized: str) -> None:
    x = samples(quantized)[:10]
    scale = np.full(x.shape, 0.25, np.float32)
    zero = np.full(x.shape, 0 if quantized == "int32" else 3, x.dtype)
    got = ours("DequantizeLinear", [x, scale, zero], np.dtype(np.float32))
    assert got is not None
    want = (x.astype(np.int64) - zero.astype(np.int64)).astype(np.float32) * np.float32(0.25)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("type_name", (*NUMBERS, "bool"))
def test_where_selects(type_name: str) -> None:
    condition, x, y = pairs(np.array([False, True]), samples(type_name), samples(type_name))
    got = ours("Where", [condition, x, y], x.dtype)
    assert got is not None
    np.testing.assert_array_equal(got.view(np.uint8), np.where(condition, x, y).view(np.uint8))


def test_shift_by_the_width_gives_zero() -> None:
    x = np.array([255, 255], np.uint8)
    got = ours("BitShift", [x, np.array([8, 200], np.uint8)], x.dtype, direction="RIGHT")
    assert got is not None
    np.testing.assert_array_equal(got, [0, 0])


def test_right_shift_of_signed_integers_keeps_the_sign() -> None:
    x = np.array([-8, -1, 8, -128, -5], np.int8)
    got = ours("BitShift", [x, np.array([1, 3, 2, 7, 8], np.int8)], x.dtype, direction="RIGHT")
    assert got is not None
    np.testing.assert_array_equal(got, [-4, -1, 2, -1, -1])


def test_f64_to_f16_rounds_once() -> None:
    # 1 + 2**-11 + 2**-40 is above the tie; by way of f32 it would be the tie and round to 1.
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, -(1 + 2.0**-11 + 2.0**-40), 1e300])
    got = ours("Cast", [x], np.dtype(np.float16), to=10)
    assert got is not None
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, x.astype(np.float16))


def test_strings_have_no_semantics() -> None:
    assert ours("Identity", [np.array(["a"], object)], np.dtype(object)) is None
