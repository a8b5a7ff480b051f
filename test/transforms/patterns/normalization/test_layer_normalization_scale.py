"""LayerNormalization takes in the scale and bias that follow it, or says why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import array_of, only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr, is_none
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.layer_normalization_scale import (
    LayerNormalizationScalePattern,
)

CONSTANTS = (
    "float[4] ones = {1, 1, 1, 1}, float[4] zeros = {0, 0, 0, 0}, float[4] s = {1, 2, 3, 4}, "
    "float[4] b = {4, 3, 2, 1}, float[4] m = {2, 2, 0.5, 3}, float[4] c = {-1, 0, 1, 2}"
)


def scaled(
    norm: str = "n = LayerNormalization <epsilon = 0.01> (x, s, b)",
    after: str = "k = Mul(n, m)\ny = Add(k, c)",
    *,
    x: str = "2, 3, 4",
    inputs: str = "",
    outputs: str = "",
    constants: str = "",
    y: str | None = None,
) -> standard.ModelProto:
    kept = ", ".join(filter(None, [CONSTANTS, constants]))
    return model_of(
        f"agraph (float[{x}] x{inputs}) => (float[{y or x}] y{outputs}) <{kept}> {{\n{norm}\n{after}\n}}"
    )


def folded(model: standard.ModelProto) -> tuple[Any, Any]:
    """Scale and bias of the one op that is left."""
    done = check_pattern(model, LayerNormalizationScalePattern)
    assert op_names(done) == ["LayerNormalization"]
    op = only(done, onnx.LayerNormalizationOp)
    assert float_attr(op, "epsilon") == np.float32(0.01)
    return array_of(op.Scale).tolist(), None if is_none(op.B) else array_of(op.B).tolist()


def test_factor_and_summand() -> None:
    assert folded(scaled()) == ([2, 4, 1.5, 12], [7, 6, 2, 5])


@pytest.mark.parametrize("after", ["k = Mul(m, n)\ny = Add(c, k)", "k = Mul(m, n)\ny = Add(k, c)"])
def test_operands_either_way_round(after: str) -> None:
    assert folded(scaled(after=after)) == ([2, 4, 1.5, 12], [7, 6, 2, 5])


def test_a_bias_that_is_there_is_multiplied_without_an_add() -> None:
    assert folded(scaled(after="y = Mul(n, m)")) == ([2, 4, 1.5, 12], [8, 6, 1, 3])


def test_a_summand_alone() -> None:
    assert folded(scaled(after="y = Add(n, c)")) == ([1, 2, 3, 4], [3, 3, 3, 3])


@pytest.mark.parametrize("bias", ["", ", zeros"])
def test_no_bias_or_one_of_zeros_gives_the_summand(bias: str) -> None:
    norm = f"n = LayerNormalization <epsilon = 0.01> (x, ones{bias})"
    assert folded(scaled(norm)) == ([2, 2, 0.5, 3], [-1, 0, 1, 2])
    assert folded(scaled(norm, "y = Mul(n, m)")) == ([2, 2, 0.5, 3], None)


def test_ones_stay_beside_a_summand() -> None:
    norm = "n = LayerNormalization <epsilon = 0.01> (x, ones)"
    assert folded(scaled(norm, "y = Add(n, c)")) == ([1, 1, 1, 1], [-1, 0, 1, 2])


def test_computed_parameters_are_combined_by_ops() -> None:
    model = scaled(
        "n = LayerNormalization(x, s1, b1)", "k = Mul(n, m1)\ny = Add(k, c1)",
        inputs=", float[4] s1, float[4] b1, float[4] m1, float[4] c1",
    )  # fmt: skip
    done = check_pattern(model, LayerNormalizationScalePattern)
    assert op_names(done) == ["Mul", "Add", "Mul", "LayerNormalization"]


def test_computed_parameters_take_the_place_of_ones_and_zeros() -> None:
    model = scaled(
        "n = LayerNormalization(x, ones, zeros)", "k = Mul(n, m1)\ny = Add(k, c1)",
        inputs=", float[4] m1, float[4] c1",
    )  # fmt: skip
    assert op_names(check_pattern(model, LayerNormalizationScalePattern)) == ["LayerNormalization"]


def test_parameters_computed_between_the_ops() -> None:
    model = scaled(after="k = Mul(n, m)\ne = Exp(c1)\ny = Add(k, e)", inputs=", float[4] c1")
    done = check_pattern(model, LayerNormalizationScalePattern)
    assert op_names(done) == ["Exp", "Add", "LayerNormalization"]


@pytest.mark.parametrize("axis", [-2, 1])
def test_several_axes_and_attributes_are_kept(axis: int) -> None:
    model = scaled(
        f"n = LayerNormalization <axis = {axis}> (x, s2)", "y = Mul(n, m2)",
        inputs=", float[3, 4] s2, float[3, 4] m2",
    )  # fmt: skip
    op = only(check_pattern(model, LayerNormalizationScalePattern), onnx.LayerNormalizationOp)
    assert int_attr(op, "axis") == axis


def test_dims_of_one_in_front_of_a_constant_are_dropped() -> None:
    model = scaled(after="y = Mul(n, k)", constants="float[1, 1, 4] k = {2, 2, 0.5, 3}")
    op = only(check_pattern(model, LayerNormalizationScalePattern), onnx.LayerNormalizationOp)
    assert array_of(op.Scale).shape == (4,)


def test_an_add_that_does_not_fit_stays() -> None:
    model = scaled(after="k = Mul(n, m)\ny = Add(k, e)", inputs=", float[3, 1] e")
    assert op_names(check_pattern(model, LayerNormalizationScalePattern)) == ["LayerNormalization", "Add"]


def test_the_add_stays_where_the_product_is_an_output() -> None:
    model = scaled(outputs=", float[2, 3, 4] k")
    assert op_names(check_pattern(model, LayerNormalizationScalePattern)) == ["LayerNormalization", "Add"]


def test_symbolic_dims_that_are_equal() -> None:
    model = scaled(
        "n = LayerNormalization(x, s1)", "y = Mul(n, m1)", x="N, T, D", inputs=", float[D] s1, float[D] m1"
    )
    assert op_names(check_pattern(model, LayerNormalizationScalePattern)) == ["Mul", "LayerNormalization"]


def test_half_precision_parameters_are_rounded_once() -> None:
    model = retyped(scaled(), standard.TensorProto.FLOAT16)
    feeds = feeds_for(model, special=False)
    op = only(
        check_pattern(model, LayerNormalizationScalePattern, feeds, Rel(4e-3)), onnx.LayerNormalizationOp
    )
    assert array_of(op.Scale).dtype == np.float16


def test_needs_opset_17() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(scaled(), LayerNormalizationScalePattern, opset=16)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "mean_is_read": (
        "statistics",
        {"norm": "n, mean = LayerNormalization(x, s, b)", "outputs": ", float[2, 3, 1] mean"},
    ),
    "deviation_is_read": (
        "statistics",
        {"norm": "n, mean, inv = LayerNormalization(x, s, b)", "outputs": ", float[2, 3, 1] inv"},
    ),
    "output": ("one Mul or Add alone", {"outputs": ", float[2, 3, 4] n"}),
    "other_op": ("one Mul or Add alone", {"after": "y = Div(n, m)"}),
    "two_readers": (
        "one Mul or Add alone",
        {"after": "y = Mul(n, m)\nz = Add(n, c)", "outputs": ", float[2, 3, 4] z"},
    ),
    "squared": ("exactly the dims", {"after": "y = Mul(n, n)"}),
    "one_number": ("exactly the dims", {"after": "y = Mul(n, k)", "constants": "float[1] k = {2}"}),
    "scalar": ("exactly the dims", {"after": "y = Mul(n, k)", "constants": "float k = {2}"}),
    "per_row": ("exactly the dims", {"after": "y = Mul(n, k)", "inputs": ", float[3, 1] k"}),
    "each_row_its_own": ("exactly the dims", {"after": "y = Mul(n, k)", "inputs": ", float[3, 4] k"}),
    "raises_the_rank": (
        "exactly the dims",
        {"after": "y = Mul(n, k)", "constants": "float[1, 1, 1, 4] k = {1, 2, 3, 4}", "y": "1, 2, 3, 4"},
    ),
    "other_symbol": (
        "exactly the dims",
        {"norm": "n = LayerNormalization(x, s1)", "x": "2, D", "y": "2, F", "after": "y = Mul(n, k)",
         "inputs": ", float[D] s1, float[E] k"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(scaled(**changes), LayerNormalizationScalePattern)


@pytest.mark.parametrize("axis", [-1, 1])
def test_declines_an_unknown_rank(axis: int) -> None:
    model = scaled(
        f"u = Reshape(x, shape)\nn = LayerNormalization <axis = {axis}> (u, s)",
        "k = Mul(n, m)\ny = Reshape(k, back)",
        inputs=", int64[R] shape, int64[3] back",
    )
    assert "exactly the dims" in decline_reason(model, LayerNormalizationScalePattern)
