"""Do constants keep every bit: array -> attribute -> array, and through text?"""

from __future__ import annotations

import math
from io import StringIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32, i1, i8
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from onnxloom.dialects.onnx import (
    ConstantOp,
    DenseStringsAttr,
    StringType,
    WeightsAttr,
    constant_attr,
    constant_value,
    make_constant,
)
from onnxloom.dialects.onnx.dtypes import (
    ELEMENT_TO_DTYPE,
    dtype_of_element,
    element_of_dtype,
    element_of_proto,
    proto_of_element,
)
from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.errors import ModelError

Array = np.ndarray[Any, Any]
NUMBERS = [(element, dtype) for element, dtype in ELEMENT_TO_DTYPE.items() if dtype.kind != "O"]
IDS = [str(element) for element, _ in NUMBERS]
SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)


def array_of_bits(element: Attribute, dtype: Any, shape: tuple[int, ...], seed: int) -> Array:
    """Any bits at all: subnormals, infinities, NaN payloads, both zeros."""
    count = math.prod(shape)
    rng: Any = np.random.default_rng(seed)
    bits = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4, "bool": 1}.get(dtype.name, 8)
    if dtype.name.startswith("float6"):
        bits = 6
    raw: Array = rng.integers(0, 1 << bits, count * dtype.itemsize, dtype=np.uint8)
    if dtype.name in ("int2", "int4"):
        raw = (raw.astype(np.int8) - (1 << (bits - 1))).astype(dtype)
    found: Array = raw.view(dtype)
    return found.reshape(shape)


def bits_of(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def through_text(op: ConstantOp) -> ConstantOp:
    text = StringIO()
    print_module(module_of(op), text)
    (again,) = (op for op in parse_module(text.getvalue()).walk() if isinstance(op, ConstantOp))
    again.verify()
    return again


def module_of(op: ConstantOp) -> Any:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Block, Region

    from onnxloom.dialects.onnx import ReturnOp

    return ModuleOp([FuncOp("f", ((), ()), Region(Block([op, ReturnOp([])])))])


@pytest.mark.parametrize(("element", "dtype"), NUMBERS, ids=IDS)
@settings(max_examples=25, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 2**32 - 1))
def test_small_constant_keeps_every_bit(element: Attribute, dtype: Any, shape: tuple[int, ...], seed: int):
    array = array_of_bits(element, dtype, shape, seed)
    op = make_constant(array)
    op.verify()
    for constant in (op, through_text(op)):
        value = constant_value(constant.output)
        assert value is not None
        assert (value.dtype, value.shape) == (dtype, shape)
        assert bits_of(value) == bits_of(array)
        assert not value.flags.writeable


@pytest.mark.parametrize(("element", "dtype"), NUMBERS, ids=IDS)
def test_large_constant_is_a_weight_and_keeps_every_bit(element: Attribute, dtype: Any):
    array = array_of_bits(element, dtype, (7, 41), seed=1)
    op = make_constant(array)
    assert isinstance(op.value, WeightsAttr)
    again = through_text(op)
    value = constant_value(again.output)
    assert value is not None
    assert (value.dtype, value.shape) == (dtype, array.shape)
    assert bits_of(value) == bits_of(array)


@pytest.mark.parametrize("dtype", [d for _, d in NUMBERS if d.kind in "fcV"], ids=str)
def test_special_numbers_survive_alone_and_as_splats(dtype: Any):
    with np.errstate(all="ignore"):
        specials = np.array([np.inf, -np.inf, np.nan, -np.nan, -0.0, 0.0, 1e-45, 1e38]).astype(dtype)
    for special in specials:
        for shape in ((), (1,), (3,), (200,)):
            array = np.full(shape, special, dtype)
            value = constant_value(through_text(make_constant(array)).output)
            assert value is not None
            assert bits_of(value) == bits_of(array)


@given(st.lists(st.binary(max_size=6), max_size=5))
@settings(max_examples=50, deadline=None)
def test_strings_of_any_bytes_survive(strings: list[bytes]):
    array = np.empty(len(strings), dtype=object)
    array[:] = strings
    value = constant_value(through_text(make_constant(array)).output)
    assert value is not None
    assert [text.encode("utf-8", "surrogateescape") for text in value] == strings


def test_string_constants_are_dense_strings_of_any_size_and_shape():
    array = np.array([["a", "b"], ["c", 'quote " and \\ back\nslash']], dtype=object)
    op = make_constant(array)
    assert isinstance(op.value, DenseStringsAttr)
    assert op.output.type == TensorType(StringType(), [2, 2])
    value = constant_value(through_text(op).output)
    assert value is not None
    assert value.tolist() == array.tolist()
    assert isinstance(make_constant(np.array(["x"] * 500)).value, DenseStringsAttr)


def test_element_types_dtypes_and_data_types_map_both_ways():
    for element, dtype in ELEMENT_TO_DTYPE.items():
        assert element_of_dtype(dtype_of_element(element)) == element
        assert element_of_proto(proto_of_element(element)) == element
        assert element_of_dtype(dtype) == element
    with pytest.raises(ModelError, match="data type 0"):
        element_of_proto(0)
    with pytest.raises(ModelError, match="datetime64"):
        element_of_dtype(np.dtype("datetime64[s]"))


def test_byte_order_and_layout_of_the_array_do_not_matter():
    array = np.arange(300, dtype=">i4").reshape(10, 30).T
    value = constant_value(constant_attr(array))
    assert value is not None
    assert value.dtype == np.int32
    assert (value == array).all()


def test_true_is_what_xdsl_stores():
    assert constant_attr(np.array([True, False])) == DenseIntOrFPElementsAttr.from_list(
        TensorType(i1, [2]), [1, 0]
    )
    assert constant_attr(np.array([-1], np.int8)) == DenseIntOrFPElementsAttr.from_list(
        TensorType(i8, [1]), [-1]
    )


def test_what_is_not_a_constant_has_no_value():
    from xdsl.utils.test_value import create_ssa_value

    assert constant_value(create_ssa_value(f32)) is None
    assert constant_value(None) is None


def test_result_type_must_fit_the_value():
    op = ConstantOp.create(
        result_types=[TensorType(f32, [3])], properties={"value": constant_attr(np.array([1, 2], np.float32))}
    )
    with pytest.raises(VerifyException, match=r"onnx.Constant: result output has type tensor<3xf32>"):
        op.verify()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dense<[1.0, 2.0]> : tensor<3xf32>", r"elements of shape \[2\] do not fit tensor<3xf32>"),
        ("dense<[[1, 2], [3]]> : tensor<2x2xi8>", "rows of different shapes"),
        ("dense<300> : tensor<i8>", "300 does not fit i8"),
        ("dense<-1> : tensor<ui8>", "-1 does not fit ui8"),
        ("dense<1.5> : tensor<i8>", "1.5 is not an integer"),
        ("dense<0x1FFFFFFFF> : tensor<f32>", "more bits"),
        ("dense<abc> : tensor<f32>", "abc is not a number"),
        ('dense<"0x00"> : tensor<2xf32>', "1 bytes do not fit"),
        ("dense<1.0> : tensor<?xf32>", "static shape"),
        ("dense<> : tensor<2xf32>", "no elements"),
        ("dense<[1, 2> : tensor<2xi8>", r"missing \]"),
        ('dense<["a"]> : tensor<2x!onnx.String>', "do not fit"),
        ("dense<2> : tensor<i1>", "2 is not true or false"),
    ],
)
def test_wrong_literal_is_refused_with_its_place(text: str, problem: str):
    with pytest.raises(ModelError, match=rf"^f.mlir:2:\d+: .*{problem}"):
        parse_module(f"func.func @f() {{\n%0 = onnx.Constant {text}\nonnx.Return }}", filename="f.mlir")
