"""LayerNormalization the way TensorFlow's batch_normalization computes it, or why it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import array_of, only, op_names
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.layer_normalization_distributed import (
    LayerNormalizationDistributedPattern,
)

LINES = {
    "mean": "mean = ReduceMean(x, ax)",
    "square": "d = Sub(x, mean)\nsq = Mul(d, d)",
    "variance": "var = ReduceMean(sq, ax)\nve = Add(var, eps)\nroot = Sqrt(ve)",
    "inverse": "r = Reciprocal(root)",
    "factor": "f = Mul(r, g)",
    "scaled": "xf = Mul(x, f)",
    "center": "mf = Mul(mean, f)",
    "shift": "t = Sub(b, mf)",
    "out": "y = Add(xf, t)",
}


def norm(
    x: str = "2, 3, 4",
    inputs: str = "",
    outputs: str = "",
    axes: str = "int64[1] ax = {-1}",
    g: str = "float[4] g = {1, 2, 3, 4}",
    b: str = "float[4] b = {4, 3, 2, 1}",
    y: str | None = None,
    **lines: str,
) -> standard.ModelProto:
    body = "\n".join({**LINES, **lines}.values())
    kept = ", ".join(filter(None, [axes, g, b, "float eps = {0.001}"]))
    return model_of(f"agraph (float[{x}] x{inputs}) => (float[{y or x}] y{outputs}) <{kept}> {{\n{body}\n}}")


def rewritten(model: standard.ModelProto) -> Any:
    feeds = feeds_for(model, special=False)
    return check_pattern(model, LayerNormalizationDistributedPattern, feeds, Rel(1e-5), times=1)


@pytest.mark.parametrize(
    "lines",
    [
        {},
        {"factor": "f = Mul(g, r)", "scaled": "xf = Mul(f, x)", "center": "mf = Mul(f, mean)"},
        {"out": "y = Add(t, xf)"},
        {"inverse": "r = Div(one, root)", "axes": "int64[1] ax = {-1}, float one = {1}"},
        {"scaled": "mf = Mul(mean, f)", "center": "xf = Mul(x, f)"},
    ],
)  # fmt: skip
def test_every_spelling_becomes_the_op(lines: dict[str, str]) -> None:
    done = rewritten(norm(**lines))
    assert op_names(done) == ["LayerNormalization"]
    op = only(done, onnx.LayerNormalizationOp)
    assert (int_attr(op, "axis"), float_attr(op, "epsilon")) == (-1, np.float32(0.001))
    assert (array_of(op.Scale).tolist(), array_of(op.B).tolist()) == ([1, 2, 3, 4], [4, 3, 2, 1])


def test_without_a_scale_it_is_ones() -> None:
    done = rewritten(norm(factor="", scaled="xf = Mul(x, r)", center="mf = Mul(mean, r)"))
    assert array_of(only(done, onnx.LayerNormalizationOp).Scale).tolist() == [1, 1, 1, 1]


def test_computed_parameters() -> None:
    done = rewritten(norm(g="", b="", inputs=", float[4] g, float[4] b"))
    assert op_names(done) == ["LayerNormalization"]


def test_dims_of_one_in_front_of_constants_are_dropped() -> None:
    done = rewritten(
        norm(g="float[1, 1, 4] g = {1, 2, 3, 4}", b="float[1, 4] b = {1, 2, 3, 4}", axes="int64[1] ax = {2}")
    )
    op = only(done, onnx.LayerNormalizationOp)
    assert array_of(op.Scale).shape == array_of(op.B).shape == (4,)


def test_needs_opset_17() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(norm(), LayerNormalizationDistributedPattern, opset=16)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "no_deviation": ("not of a square", {"square": "d = Sub(x, mean)\nsq = Exp(d)"}),
    "no_inverse": ("inverse of the deviation", {"inverse": "r = Exp(root)"}),
    "not_a_difference": ("two Muls alone", {"square": "d = Add(x, mean)\nsq = Mul(d, d)"}),
    "factor_is_an_output": ("two Muls alone", {"outputs": ", float[2, 3, 4] f"}),
    "factor_read_three_times": (
        "two Muls alone",
        {"out": "y0 = Add(xf, t)\ny = Mul(y0, f)"},
    ),
    "another_value_scaled": ("value and its mean", {"scaled": "e = Exp(x)\nxf = Mul(e, f)"}),
    "another_value_centered": ("value and its mean", {"center": "e = Exp(mean)\nmf = Mul(e, f)"}),
    "factor_added": ("value and its mean", {"scaled": "xf = Add(x, f)"}),
    "factor_squared": ("value and its mean", {"scaled": "xf = Mul(f, f)"}),
    "not_subtracted": ("not subtracted from a bias", {"shift": "t = Add(b, mf)"}),
    "subtracted_the_other_way": ("not subtracted from a bias", {"shift": "t = Sub(mf, b)"}),
    "scaled_mean_is_an_output": ("not subtracted from a bias", {"outputs": ", float[2, 3, 4] mf"}),
    "scaled_value_is_an_output": ("not added to the scaled value", {"outputs": ", float[2, 3, 4] xf"}),
    "shift_multiplied": ("not added to the scaled value", {"out": "y = Mul(xf, t)"}),
    "another_value_added": ("not added to the scaled value", {"out": "t2 = Exp(t)\ny = Add(xf, t2)"}),
    "shift_is_an_output": ("shift is read elsewhere", {"outputs": ", float[2, 3, 4] t"}),
    "mean_is_an_output": ("mean is read elsewhere", {"outputs": ", float[2, 3, 1] mean"}),
    "another_mean": ("its own mean", {"mean": "mean = ReduceMax(x, ax)"}),
    "axes_not_trailing": (
        "from one to the last",
        {"axes": "int64[1] ax = {1}", "g": "float[3, 1] g = {1, 2, 3}", "b": "float[3, 1] b = {1, 2, 3}"},
    ),
    "scale_that_broadcasts": ("exactly the dims", {"g": "float[1] g = {2}"}),
    "bias_that_broadcasts": ("exactly the dims", {"b": "float b = {2}"}),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(norm(**changes), LayerNormalizationDistributedPattern)
