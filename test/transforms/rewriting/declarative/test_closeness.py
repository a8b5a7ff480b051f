"""Which arrays and attributes count as what a pattern says?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, UnitAttr, f16, f32, i64

from onnxloom.dialects.onnx import constant_attr
from onnxloom.dialects.onnx.attributes import floats_value, ints_value
from onnxloom.transforms.rewriting.declarative.closeness import attribute_value, is_close, is_same_attribute

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("found", "expected", "rtol", "close"),
    [
        (np.float32(0.1), 0.1, None, True),
        (np.float32(0.1), 0.1, 0, True),
        (np.nextafter(np.float32(0.1), np.float32(1)), 0.1, 0, False),
        (np.nextafter(np.float32(0.1), np.float32(1)), 0.1, None, True),
        (np.float32(0.0), 0.0, None, True),
        (np.float32(-0.0), 0.0, None, True),
        (np.float32(-0.0), 0.0, 0, False),
        (np.float32(1e-30), 0.0, None, False),
        (np.float32(NAN), NAN, None, True),
        (np.float32(NAN), 1.0, None, False),
        (np.float32(1.0), NAN, None, False),
        (np.float32(INF), INF, None, True),
        (np.float32(-INF), INF, 0.5, False),
        (np.float32(1e30), INF, 0.5, False),
        (np.float16(INF), 1e30, None, True),
        (np.float16(0.7978516), np.sqrt(2 / np.pi), None, True),
        (np.float32(0.7978516), np.sqrt(2 / np.pi), None, False),
        (np.float32(0.7978516), np.sqrt(2 / np.pi), 1e-3, True),
        (ml_dtypes.bfloat16(0.8), 0.7978845608, None, True),
        (ml_dtypes.bfloat16(0.75), 0.7978845608, None, False),
        (ml_dtypes.float8_e4m3fn(0.1), 0.1, None, True),
        (ml_dtypes.float8_e4m3fn(0.2), 0.1, None, False),
        (np.int64(3), 3, 0.5, True),
        (np.int64(3), 3.0, None, True),
        (np.int64(3), 4, 0.9, False),
        (np.bool_(True), 1, None, True),
        (np.bool_(False), 1, None, False),
        (np.complex64(1), 1, None, True),
        (np.complex64(1j), 1, None, False),
    ],
)
def test_numbers_agree(found: Any, expected: float, rtol: float | None, close: bool):
    assert is_close(np.asarray(found), np.asarray(expected), rtol) == close


def test_arrays_agree_element_by_element():
    assert is_close(np.array([[1.0], [2.0]], np.float32), np.array([1.0, 2.0]), None)
    assert not is_close(np.array([1.0, 2.5], np.float32), np.array([1.0, 2.0]), None)
    assert not is_close(np.array(["a"], object), np.array([1]), None)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        (None, None),
        (IntegerAttr(3, i64), 3),
        (FloatAttr(0.5, f32), 0.5),
        (StringAttr("tanh"), "tanh"),
        (ints_value([1, 2]), (1, 2)),
        (floats_value([0.5]), (0.5,)),
        (f16, 10),
        (UnitAttr(), UnitAttr()),
    ],
)
def test_attributes_as_python_values(attribute: Any, value: Any):
    assert attribute_value(attribute) == value


def test_a_tensor_attribute_is_its_array():
    array = attribute_value(constant_attr(np.array([1.5, 2.0], np.float32)))
    assert is_same_attribute(array, np.array([1.5, 2.0], np.float32), None)
    assert not is_same_attribute(array, np.array([2.5, 2.0], np.float32), None)
    assert not is_same_attribute(array, None, None)


@pytest.mark.parametrize(
    ("found", "expected", "rtol", "same"),
    [
        (1, 1, None, True),
        (1, 2, 0.9, False),
        (None, None, None, True),
        (None, 0, None, False),
        (0, None, None, False),
        ("a", "a", None, True),
        ((1, 2), (1, 2), None, True),
        ((1, 2), (1, 3), None, False),
        ((1,), (1, 2), None, False),
        ((0.1,), (float(np.float32(0.1)),), 0, True),
        (float(np.float32(0.1)), 0.1, 0, True),
        (0.1001, 0.1, None, False),
        (0.1001, 0.1, 1e-2, True),
        (1.0, 1, None, True),
    ],
)
def test_attributes_agree(found: Any, expected: Any, rtol: float | None, same: bool):
    assert is_same_attribute(found, expected, rtol) == same
