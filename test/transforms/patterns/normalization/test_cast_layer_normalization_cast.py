"""Casts around a normalization that widens by itself go, or stay for a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import only, op_names
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr, is_none
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.cast_layer_normalization_cast import (
    CastLayerNormalizationCastPattern,
)


def norm(
    op: str = "n = LayerNormalization <epsilon = 0.01, axis = 2> (w, s, b)",
    *,
    x: str = "float16[2, 4, 4]",
    y: str = "float16[2, 4, 4]",
    widen: str = "w = Cast <to = 1> (x)",
    narrow: str = "y = Cast <to = 10> (n)",
    inputs: str = "",
    outputs: str = "",
    constants: str = "float[4] s = {1, 2, 3, 4}, float[4] b = {0.5, 0.25, 0, 1}",
) -> standard.ModelProto:
    return model_of(
        f"agraph ({x} x{inputs}) => ({y} y{outputs}) <{constants}> {{\n{widen}\n{op}\n{narrow}\n}}", 23
    )


def rewritten(model: standard.ModelProto) -> Any:
    feeds = feeds_for(model, special=False)
    return check_pattern(model, CastLayerNormalizationCastPattern, feeds, Rel(4e-3), times=1)


def test_scale_and_bias_are_cast_instead() -> None:
    done = rewritten(norm())
    assert op_names(done) == ["Cast", "Cast", "LayerNormalization"]
    op = only(done, onnx.LayerNormalizationOp)
    assert (int_attr(op, "axis"), float_attr(op, "epsilon")) == (2, pytest.approx(0.01))


def test_a_bias_left_out_stays_out() -> None:
    done = rewritten(norm("n = LayerNormalization(w, s)"))
    assert op_names(done) == ["Cast", "LayerNormalization"]
    assert is_none(only(done, onnx.LayerNormalizationOp).B)


def test_rms_normalization() -> None:
    assert op_names(rewritten(norm("n = RMSNormalization(w, s)"))) == ["Cast", "RMSNormalization"]


def test_group_normalization() -> None:
    done = rewritten(norm("n = GroupNormalization <num_groups = 2> (w, s, b)"))
    assert op_names(done) == ["Cast", "Cast", "GroupNormalization"]
    assert int_attr(only(done, onnx.GroupNormalizationOp), "num_groups") == 2


def test_a_computed_scale_and_an_infinite_bias() -> None:
    model = norm(inputs=", float[4] s", constants="float[4] b = {0.5, 0.25, 0, 1}")
    infinite = np.array([np.inf, 0, 0, -np.inf], np.float32)
    model.graph.initializer[0].CopyFrom(standard.numpy_helper.from_array(infinite, "b"))
    assert op_names(rewritten(model)) == ["Cast", "Cast", "LayerNormalization"]


def test_needs_opset_17() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(norm(), CastLayerNormalizationCastPattern, opset=16)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "not_cast": ("not cast", {"x": "float[2, 4, 4]", "widen": "w = Exp(x)"}),
    "from_an_integer": (
        "16-bit float",
        {"x": "int32[2, 4, 4]", "y": "int32[2, 4, 4]", "narrow": "y = Cast <to = 6> (n)"},
    ),
    "from_a_double": (
        "16-bit float",
        {"x": "double[2, 4, 4]", "y": "double[2, 4, 4]", "narrow": "y = Cast <to = 11> (n)"},
    ),
    "to_another_type_than_the_stash": (
        "to the stash type",
        {"op": "s1 = CastLike(s, w)\nn = LayerNormalization(w, s1)", "widen": "w = Cast <to = 11> (x)"},
    ),
    "wide_input_is_an_output": ("wide input is read elsewhere", {"outputs": ", float[2, 4, 4] w"}),
    "mean_is_an_output": (
        "statistics",
        {"op": "n, m = LayerNormalization(w, s)", "outputs": ", float[2, 4, 1] m"},
    ),
    "deviation_is_an_output": (
        "statistics",
        {"op": "n, m, i = LayerNormalization(w, s)", "outputs": ", float[2, 4, 1] i"},
    ),
    "no_cast_back": ("only cast back", {"y": "float[2, 4, 4]", "narrow": "y = Exp(n)"}),
    "to_a_third_type": (
        "only cast back",
        {"y": "bfloat16[2, 4, 4]", "narrow": "y = Cast <to = 16> (n)"},
    ),
    "scale_too_large": (
        "too large",
        {"constants": "float[4] s = {1, 2, 3, 70000}, float[4] b = {0, 0, 0, 0}"},
    ),
    "bias_too_large": (
        "too large",
        {"constants": "float[4] s = {1, 2, 3, 4}, float[4] b = {0, 0, 0, -70000}"},
    ),
    "wide_result_is_an_output": ("only cast back", {"outputs": ", float[2, 4, 4] n"}),
}


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(norm(**changes), CastLayerNormalizationCastPattern)
