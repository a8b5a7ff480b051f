"""Do the accessors read every kind of attribute, and `make` build what they read?"""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, NoneType, StringAttr, TensorType, f32
from xdsl.ir import SSAValue
from xdsl.utils.test_value import create_ssa_value

from onnxloom.dialects import onnx as o
from onnxloom.dialects.onnx import access
from onnxloom.dialects.onnx.attributes import floats_value, ints_value
from onnxloom.dialects.onnx.element_types import si64
from onnxloom.errors import ModelError

T = TensorType(f32, [2, 3])


@pytest.fixture
def x() -> SSAValue:
    return create_ssa_value(T)


def test_make_gives_properties_of_the_schemas_kinds(x: SSAValue):
    op = access.make(
        o.GemmOp, [x, x, x], [T], alpha=2, transB=True, attributes={"onnx_node_name": StringAttr("g")}
    )
    assert str(op.properties["alpha"]) == "2.000000e+00 : f32"
    assert op.properties["transB"] == IntegerAttr(1, si64)
    assert list(op.properties) == sorted(op.properties)
    assert access.float_attr(op, "alpha") == 2.0
    assert access.float_attr(op, "beta") == 1.0
    assert access.bool_attr(op, "transB") is True
    assert access.bool_attr(op, "transA") is False
    assert access.str_attr(op, "onnx_node_name") == "g"
    op.verify()


def test_none_is_left_out(x: SSAValue):
    op = access.make(o.TransposeOp, [x], [T], perm=None)
    assert op.properties == {}
    assert access.ints_attr(op, "perm") is None
    assert access.ints_attr(access.make(o.TransposeOp, [x], [T], perm=[1, 0]), "perm") == (1, 0)
    assert access.ints_attr(access.make(o.TransposeOp, [x], [T], perm=()), "perm") == ()


def test_empty_and_whole_numbers_of_array_attributes_take_the_schemas_kind(x: SSAValue):
    op = access.make(o.UpsampleOp, [x, x], [T], mode="linear")
    assert access.str_attr(op, "mode") == "linear"
    scaler = access.make(o.ScalerOp, [x], [T], offset=[1, 2], scale=[])
    assert access.floats_attr(scaler, "offset") == (1.0, 2.0)
    assert access.floats_attr(scaler, "scale") == ()
    scaler.verify()
    encoder = access.make(o.LabelEncoderOp, [x], [T], keys_strings=[b"a", "\udcff"])
    assert access.strs_attr(encoder, "keys_strings") == ("a", "\udcff")
    encoder.verify()


@pytest.mark.parametrize(
    ("read", "name", "problem"),
    [
        (access.int_attr, "nope", "onnx.Relu: attribute nope is missing; expected an integer"),
        (access.int_attr, "s", 'attribute s is "text"; expected an integer'),
        (access.str_attr, "i", "attribute i is 3 : si64; expected a string"),
        (access.ints_attr, "s", "expected an array of integers"),
        (access.floats_attr, "i", "expected an array of numbers"),
        (access.float_attr, "i", "expected a number"),
    ],
)
def test_wrong_or_missing_attribute_is_a_model_error(x: SSAValue, read: Any, name: str, problem: str):
    op = access.make(o.ReluOp, [x], [T], s="text", i=3)
    with pytest.raises(ModelError, match=problem):
        read(op, name)


def test_fallback_only_where_there_is_nothing(x: SSAValue):
    op = access.make(o.ReluOp, [x], [T], zero=0)
    assert access.int_attr(op, "zero", 7) == 0
    assert access.int_attr(op, "absent", 7) == 7
    assert access.opt_int_attr(op, "absent") is None
    assert access.opt_float_attr(op, "absent") is None


def test_left_out_operand_is_none():
    none = o.NoValueOp.make()
    none.verify()
    assert access.is_none(none.none_val)
    assert none.none_val.type == NoneType()
    assert not access.is_none(create_ssa_value(T))


def test_zeros_of_both_signs_and_booleans_stay_what_they_are():
    assert str(floats_value([0.0, -0.0, 0.0])) == str(
        ArrayAttr([FloatAttr(0.0, f32), FloatAttr(-0.0, f32), FloatAttr(0.0, f32)])
    )
    assert str(ints_value([True, 1, 0])) == "[1 : i64, 1 : i64, 0 : i64]"
