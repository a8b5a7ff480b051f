"""Softmax from its parts, or why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.softmax_from_parts import SoftmaxFromPartsPattern

LINES = {
    "shift": "m = ReduceMax(x, ax)\nd = Sub(x, m)",
    "exp": "e = Exp(d)",
    "sum": "s = ReduceSum(e, ax)",
    "out": "y = Div(e, s)",
}


def softmax(
    x: str = "2, 3, 4", axes: str = "int64[1] ax = {-1}", inputs: str = "", outputs: str = "", **lines: str
) -> standard.ModelProto:
    body = "\n".join({**LINES, **lines}.values())
    return model_of(f"agraph (float[{x}] x{inputs}) => (float[{x}] y{outputs}) <{axes}> {{\n{body}\n}}")


@pytest.mark.parametrize(("axis", "positive"), [(-1, 2), (2, 2), (1, 1), (0, 0)])
def test_becomes_the_op(axis: int, positive: int) -> None:
    done = check_pattern(softmax(axes=f"int64[1] ax = {{{axis}}}"), SoftmaxFromPartsPattern, times=1)
    assert op_names(done) == ["Softmax"]
    assert int_attr(only(done, onnx.SoftmaxOp), "axis") == positive


def test_without_a_shift() -> None:
    model = softmax(shift="", exp="e = Exp(x)")
    done = check_pattern(model, SoftmaxFromPartsPattern, feeds_for(model, special=False))
    assert op_names(done) == ["Softmax"]


def test_large_numbers_do_not_overflow_any_more() -> None:
    model = softmax("2", shift="", exp="e = Exp(x)")
    feeds: Any = {"x": np.array([1000, 0], "f")}
    with pytest.raises(AssertionError, match="changed the results"):
        check_pattern(model, SoftmaxFromPartsPattern, feeds)


def test_symbolic_dims() -> None:
    model = softmax("N, T, D")
    feeds = feeds_for(model, special=False)
    assert op_names(check_pattern(model, SoftmaxFromPartsPattern, feeds)) == ["Softmax"]


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"shift": "m = ReduceMax(x, one)\nd = Sub(x, m)", "axes": "int64[1] ax = {2}, int64[1] one = {1}"},
         ["ReduceMax", "Sub", "Softmax"]),
        ({"shift": "m = ReduceMin(x, ax)\nd = Sub(x, m)"}, ["ReduceMin", "Sub", "Softmax"]),
        ({"shift": "z = Exp(x)\nm = ReduceMax(z, ax)\nd = Sub(x, m)"},
         ["Exp", "ReduceMax", "Sub", "Softmax"]),
        ({"shift": "m = ReduceMax(x, ax)\nd = Sub(m, x)"}, ["ReduceMax", "Sub", "Softmax"]),
        ({"outputs": ", float[2, 3, 4] d"}, ["ReduceMax", "Sub", "Softmax"]),
        ({"outputs": ", float[2, 3, 1] m"}, ["ReduceMax", "Sub", "Softmax"]),
        ({"shift": "m = ReduceMax(x)\nd = Sub(x, m)"}, ["ReduceMax", "Sub", "Softmax"]),
    ],
)  # fmt: skip
def test_a_shift_that_is_another_or_read_elsewhere_stays(changes: dict[str, Any], left: list[str]) -> None:
    model = softmax(**changes)
    feeds = feeds_for(model, special=False)
    assert op_names(check_pattern(model, SoftmaxFromPartsPattern, feeds)) == left


@pytest.mark.parametrize(
    ("element", "tolerance"),
    [(standard.TensorProto.FLOAT16, Rel(1e-2)), (standard.TensorProto.DOUBLE, Rel(1e-12))],
)
def test_other_float_types(element: int, tolerance: Rel) -> None:
    model = retyped(softmax(), element)
    feeds = feeds_for(model, special=False)
    assert op_names(check_pattern(model, SoftmaxFromPartsPattern, feeds, tolerance)) == ["Softmax"]


def test_needs_opset_13() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(softmax(), SoftmaxFromPartsPattern, opset=12)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "no_exponentials": ("not of exponentials", {"exp": "e = Tanh(d)"}),
    "sum_is_an_output": ("does not divide the exponentials alone", {"outputs": ", float[2, 3, 1] s"}),
    "not_divided": ("does not divide the exponentials alone", {"out": "y = Mul(e, s)"}),
    "divided_the_other_way": ("does not divide the exponentials alone", {"out": "y = Div(s, e)"}),
    "another_value_divided": ("does not divide the exponentials alone", {"out": "y = Div(x, s)"}),
    "exponentials_are_an_output": ("exponentials are read elsewhere", {"outputs": ", float[2, 3, 4] e"}),
    "exponentials_are_read": ("exponentials are read elsewhere", {"out": "q = Div(e, s)\ny = Add(q, e)"}),
    "dims_dropped": ("drops its dims", {"x": "3, 3", "sum": "s = ReduceSum <keepdims = 0> (e, ax)"}),
    "computed_axis": ("not constant", {"sum": "s = ReduceSum(e, a)", "inputs": ", int64[1] a"}),
    "no_axis": ("over no axis", {"sum": "s = ReduceSum <noop_with_empty_axes = 1> (e)"}),
    "several_axes": ("several axes", {"axes": "int64[2] ax = {1, 2}"}),
    "all_axes": ("several axes", {"sum": "s = ReduceSum(e)"}),
}


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(softmax(**changes), SoftmaxFromPartsPattern)
