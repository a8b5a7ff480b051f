"""LogSoftmax from its parts, or why not."""

from __future__ import annotations

from typing import Any

import onnx as standard
import pytest
from rewritten import only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.log_softmax_from_parts import LogSoftmaxFromPartsPattern

LINES = {
    "shift": "m = ReduceMax(x, ax)\nd = Sub(x, m)",
    "exp": "e = Exp(d)",
    "sum": "s = ReduceSum(e, ax)",
    "log": "l = Log(s)",
    "out": "y = Sub(d, l)",
}
SHORT = {"shift": "", "exp": "", "sum": "", "log": "l = ReduceLogSumExp(x, ax)", "out": "y = Sub(x, l)"}


def log_softmax(
    x: str = "2, 3, 4", axes: str = "int64[1] ax = {-1}", inputs: str = "", outputs: str = "", **lines: str
) -> standard.ModelProto:
    body = "\n".join({**LINES, **lines}.values())
    return model_of(f"agraph (float[{x}] x{inputs}) => (float[{x}] y{outputs}) <{axes}> {{\n{body}\n}}")


def rewritten(model: standard.ModelProto, tolerance: Rel | None = None) -> Any:
    feeds = feeds_for(model, special=False)
    return check_pattern(model, LogSoftmaxFromPartsPattern, feeds, tolerance, times=1)


@pytest.mark.parametrize("lines", [{}, SHORT, {"shift": "", "exp": "e = Exp(x)", "out": "y = Sub(x, l)"}])
@pytest.mark.parametrize(("axis", "positive"), [(-1, 2), (1, 1)])
def test_every_spelling_becomes_the_op(lines: dict[str, str], axis: int, positive: int) -> None:
    done = rewritten(log_softmax(axes=f"int64[1] ax = {{{axis}}}", **lines))
    assert op_names(done) == ["LogSoftmax"]
    assert int_attr(only(done, onnx.LogSoftmaxOp), "axis") == positive


def test_a_shift_that_is_read_elsewhere_stays() -> None:
    done = rewritten(log_softmax(outputs=", float[2, 3, 4] d"))
    assert op_names(done) == ["ReduceMax", "Sub", "LogSoftmax"]


@pytest.mark.parametrize(
    ("element", "tolerance"),
    [(standard.TensorProto.FLOAT16, Rel(1e-2)), (standard.TensorProto.DOUBLE, Rel(1e-12))],
)
def test_other_float_types(element: int, tolerance: Rel) -> None:
    assert op_names(rewritten(retyped(log_softmax(), element), tolerance)) == ["LogSoftmax"]


def test_needs_opset_13() -> None:
    model = log_softmax()
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(model, LogSoftmaxFromPartsPattern, feeds_for(model, special=False), opset=12)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "no_exponentials": ("no logarithm of a sum", {"exp": "e = Abs(d)"}),
    "no_logarithm": ("no logarithm of a sum", {"log": "l = Sqrt(s)"}),
    "sum_is_an_output": ("no logarithm of a sum", {"outputs": ", float[2, 3, 1] s"}),
    "exponentials_are_an_output": ("exponentials are read elsewhere", {"outputs": ", float[2, 3, 4] e"}),
    "dims_dropped": ("drops its dims", {"x": "3, 3", "sum": "s = ReduceSum <keepdims = 0> (e, ax)"}),
    "several_axes": ("several axes", {"axes": "int64[2] ax = {1, 2}"}),
    "logarithm_is_an_output": ("not subtracted from what", {"outputs": ", float[2, 3, 1] l"}),
    "logarithm_added": ("not subtracted from what", {"out": "y = Add(d, l)"}),
    "subtracted_the_other_way": ("not subtracted from what", {"out": "y = Sub(l, d)"}),
    "subtracted_from_another_value": ("not subtracted from what", {"out": "y = Sub(x, l)"}),
    "short_form": ("not subtracted from what", {**SHORT, "out": "z = Exp(x)\ny = Sub(z, l)"}),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(log_softmax(**changes), LogSoftmaxFromPartsPattern)
