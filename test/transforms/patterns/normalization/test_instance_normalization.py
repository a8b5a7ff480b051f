"""InstanceNormalization from its parts, or why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import array_of, only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.instance_normalization import InstanceNormalizationPattern
from onnxloom.transforms.patterns.normalization.layer_normalization import LayerNormalizationPattern

LINES = {
    "center": "mean = ReduceMean(x, ax)\nd = Sub(x, mean)",
    "square": "sq = Mul(d, d)",
    "variance": "var = ReduceMean(sq, ax)\nve = Add(var, eps)\nroot = Sqrt(ve)",
    "quotient": "n = Div(d, root)",
    "scale": "k = Mul(n, g)",
    "out": "y = Add(k, b)",
}


def norm(
    x: str = "2, 3, 4, 5",
    axes: str = "int64[2] ax = {2, 3}",
    g: str = "float[3, 1, 1] g = {1, 2, 3}",
    b: str = "float[1, 3, 1, 1] b = {3, 2, 1}",
    inputs: str = "",
    outputs: str = "",
    y: str | None = None,
    **lines: str,
) -> standard.ModelProto:
    body = "\n".join({**LINES, **lines}.values())
    kept = ", ".join(filter(None, [axes, g, b, "float eps = {0.0009765625}"]))
    return model_of(f"agraph (float[{x}] x{inputs}) => (float[{y or x}] y{outputs}) <{kept}> {{\n{body}\n}}")


def rewritten(model: standard.ModelProto, tolerance: Rel | None = None) -> Any:
    feeds = feeds_for(model, special=False)
    return check_pattern(model, InstanceNormalizationPattern, feeds, tolerance, times=1)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"axes": "int64[2] ax = {-1, -2}"},
        {"scale": "k = Mul(g, n)", "out": "y = Add(b, k)"},
        {"quotient": "r = Reciprocal(root)\nn = Mul(d, r)"},
        {"x": "N, 3, H, W"},
    ],
)
def test_every_spelling_becomes_the_op(changes: dict[str, Any]) -> None:
    done = rewritten(norm(**changes))
    assert op_names(done) == ["InstanceNormalization"]
    op = only(done, onnx.InstanceNormalizationOp)
    assert (array_of(op.scale).tolist(), array_of(op.B).tolist()) == ([1, 2, 3], [3, 2, 1])
    assert float_attr(op, "epsilon") == 0.0009765625


def test_one_axis_after_the_channels() -> None:
    model = norm("2, 3, 4", "int64[1] ax = {2}", "float[3, 1] g = {1, 2, 3}", "float[3, 1] b = {3, 2, 1}")
    assert op_names(rewritten(model)) == ["InstanceNormalization"]


def test_one_number_for_all_channels() -> None:
    op = only(rewritten(norm(g="float[1] g = {2}", b="float b = {1}")), onnx.InstanceNormalizationOp)
    assert (array_of(op.scale).tolist(), array_of(op.B).tolist()) == ([2, 2, 2], [1, 1, 1])


def test_a_bias_that_is_not_there_is_zero() -> None:
    op = only(rewritten(norm(out="y = Identity(k)")), onnx.InstanceNormalizationOp)
    assert array_of(op.B).tolist() == [0, 0, 0]


def test_a_bias_per_row_stays_outside() -> None:
    done = rewritten(norm(b="float[4, 1] b = {1, 2, 3, 4}"))
    assert op_names(done) == ["InstanceNormalization", "Add"]


def test_comes_before_layer_normalization() -> None:
    patterns = [LayerNormalizationPattern, InstanceNormalizationPattern]
    model = norm()
    done = check_pattern(model, patterns, feeds_for(model, special=False))
    assert op_names(done) == ["InstanceNormalization"]


@pytest.mark.parametrize(
    ("element", "tolerance"),
    [
        (standard.TensorProto.FLOAT16, Rel(1e-2)),
        (standard.TensorProto.BFLOAT16, Rel(5e-2)),
        (standard.TensorProto.DOUBLE, Rel(1e-12)),
    ],
)
def test_other_float_types(element: int, tolerance: Rel) -> None:
    done = rewritten(retyped(norm(), element), tolerance)
    assert op_names(done) == ["InstanceNormalization"]


def test_bfloat16_needs_opset_22() -> None:
    model = retyped(norm(), standard.TensorProto.BFLOAT16)
    assert "opset 22" in decline_reason(model, InstanceNormalizationPattern, opset=21)
    feeds = feeds_for(norm(), special=False)
    check_pattern(norm(), InstanceNormalizationPattern, feeds, opset=21)


def test_needs_opset_6() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(norm(), InstanceNormalizationPattern, feeds_for(norm(), special=False), opset=5)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "no_deviation": ("not of a square", {"square": "sq = Exp(d)"}),
    "not_centered": ("not a difference", {"center": "mean = ReduceMean(x, ax)\nd = Add(x, mean)"}),
    "channels_too": (
        "not all after the channels",
        {"axes": "int64[3] ax = {1, 2, 3}"},
    ),
    "not_all": ("not all after the channels", {"axes": "int64[1] ax = {3}"}),
    "channels_last": ("not all after the channels", {"axes": "int64[2] ax = {1, 2}"}),
    "rank_2": (
        "not all after the channels",
        {"x": "4, 3", "axes": "int64[1] ax = {1}", "g": "float g = {2}", "b": "float b = {1}"},
    ),
    "no_scale": ("not scaled by a constant", {"scale": "k = Exp(n)"}),
    "bias_alone": ("not scaled by a constant", {"scale": "k = Identity(n)", "out": "y = Add(n, b)"}),
    "computed_scale": ("not scaled by a constant", {"g": "", "inputs": ", float[3, 1, 1] g"}),
    "scale_per_element": ("not scaled by a constant", {"g": "float[4, 1] g = {1, 2, 3, 4}"}),
    "scale_of_rank_1_is_along_the_last_axis": (
        "not scaled by a constant",
        {"x": "2, 3, 4, 3", "g": "float[3] g = {1, 2, 3}"},
    ),
    "scale_per_image": ("not scaled by a constant", {"g": "float[2, 1, 1, 1] g = {1, 2}"}),
    "scale_of_more_dims": (
        "not scaled by a constant",
        {"g": "float[1, 1, 3, 1, 1] g = {1, 2, 3}", "y": "1, 2, 3, 4, 5"},
    ),
    "scaled_by_itself": ("not scaled by a constant", {"scale": "k = Mul(n, n)"}),
    "unscaled_result_is_an_output": ("not scaled by a constant", {"outputs": ", float[2, 3, 4, 5] n"}),
    "channels_unknown": ("not scaled by a constant", {"x": "2, C, 4, 5", "y": "2, D, 4, 5"}),
    "scaled_inside": (
        "not scaled by a constant",
        {"quotient": "r = Reciprocal(root)\nrg = Mul(r, g)\nn = Mul(d, rg)"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(norm(**changes), InstanceNormalizationPattern)


def test_scale_and_bias_are_whole_arrays() -> None:
    op = only(rewritten(norm(g="float g = {2}")), onnx.InstanceNormalizationOp)
    assert array_of(op.scale).flags.c_contiguous
    assert array_of(op.scale).dtype == np.float32
