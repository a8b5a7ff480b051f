"""LayerNormalization from its parts: every spelling, every guard of it and of what it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import array_of, only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.testing import Rel, Ulp, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.layer_normalization import LayerNormalizationPattern

LINES = {
    "mean": "mean = ReduceMean(x, ax)",
    "center": "d = Sub(x, mean)",
    "square": "sq = Mul(d, d)",
    "variance": "var = ReduceMean(sq, ax)",
    "add": "ve = Add(var, eps)",
    "root": "s = Sqrt(ve)",
    "out": "y = Div(d, s)",
}
CONSTANTS = {
    "ax": "int64[1] ax = {-1}",
    "eps": "float eps = {0.001}",
    "two": "float two = {2}",
    "half": "float half = {0.5}",
    "neg": "float neg = {-0.5}",
    "one": "float one = {1}",
}


def norm(
    x: str = "float[2, 3, 4]",
    outputs: str = "",
    inputs: str = "",
    constants: dict[str, str] | None = None,
    opset: int = 21,
    **lines: str,
) -> standard.ModelProto:
    """A decomposed layer normalization; lines and constants are replaced by name."""
    body = "\n".join({**LINES, **lines}.values())
    kept = ", ".join({**CONSTANTS, **(constants or {})}.values())
    return model_of(f"agraph ({x} x{inputs}) => ({x} y{outputs}) <{kept}> {{\n{body}\n}}", opset)


SPELLINGS: dict[str, dict[str, Any]] = {
    "keras": {},
    "pytorch": {"square": "sq = Pow(d, two)"},
    "integer_exponent": {"square": "sq = Pow(d, itwo)", "constants": {"i": "int64 itwo = {2}"}},
    "epsilon_first": {"add": "ve = Add(eps, var)"},
    "epsilon_of_rank_1": {"constants": {"eps": "float[1] eps = {0.001}"}},
    "epsilon_of_full_rank": {"constants": {"eps": "float[1, 1, 1] eps = {0.001}"}},
    "positive_axis": {"constants": {"ax": "int64[1] ax = {2}"}},
    "reciprocal": {"out": "r = Reciprocal(s)\ny = Mul(d, r)"},
    "reciprocal_first": {"out": "r = Reciprocal(s)\ny = Mul(r, d)"},
    "one_over": {"out": "r = Div(one, s)\ny = Mul(d, r)"},
    "power_half": {"root": "s = Pow(ve, half)"},
    "power_half_reciprocal": {"root": "s = Pow(ve, half)", "out": "r = Reciprocal(s)\ny = Mul(d, r)"},
    "power_minus_half": {"root": "s = Pow(ve, neg)", "out": "y = Mul(d, s)"},
    "difference_twice": {"square": "e = Sub(x, mean)\nsq = Mul(e, e)"},
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_becomes_the_op(spelling: str) -> None:
    done = check_pattern(norm(**SPELLINGS[spelling]), LayerNormalizationPattern, times=1)
    assert op_names(done) == ["LayerNormalization"]
    op = only(done, onnx.LayerNormalizationOp)
    assert int_attr(op, "axis") == -1
    assert float_attr(op, "epsilon") == np.float32(0.001)
    np.testing.assert_array_equal(array_of(op.Scale), np.ones(4, np.float32))


def test_without_epsilon_it_is_zero() -> None:
    model = norm(add="", root="s = Sqrt(var)")
    feeds = feeds_for(model, special=False)
    op = only(check_pattern(model, LayerNormalizationPattern, feeds), onnx.LayerNormalizationOp)
    assert float_attr(op, "epsilon") == 0.0


@pytest.mark.parametrize("axes", ["int64[2] ax = {1, 2}", "int64[2] ax = {-1, -2}", "int64[2] ax = {2, 1}"])
def test_several_trailing_axes_in_any_order(axes: str) -> None:
    op = only(
        check_pattern(norm(constants={"ax": axes}), LayerNormalizationPattern), onnx.LayerNormalizationOp
    )
    assert int_attr(op, "axis") == -2
    assert array_of(op.Scale).shape == (3, 4)


def test_a_mean_without_axes_is_over_all() -> None:
    model = norm(mean="mean = ReduceMean(x)", variance="var = ReduceMean(sq)")
    op = only(check_pattern(model, LayerNormalizationPattern), onnx.LayerNormalizationOp)
    assert int_attr(op, "axis") == -3


def test_the_scale_of_an_inverse_deviation_is_the_scale() -> None:
    model = norm(
        out="r = Reciprocal(s)\nrg = Mul(g, r)\ny = Mul(d, rg)", constants={"g": "float[4] g = {1, 2, 3, 4}"}
    )
    op = only(check_pattern(model, LayerNormalizationPattern), onnx.LayerNormalizationOp)
    np.testing.assert_array_equal(array_of(op.Scale), np.array([1, 2, 3, 4], np.float32))


def test_dims_of_one_in_front_of_a_constant_scale_are_dropped() -> None:
    model = norm(
        out="r = Reciprocal(s)\nrg = Mul(r, g)\ny = Mul(d, rg)",
        constants={"g": "float[1, 1, 4] g = {1, 2, 3, 4}"},
    )
    op = only(check_pattern(model, LayerNormalizationPattern), onnx.LayerNormalizationOp)
    assert array_of(op.Scale).shape == (4,)


def test_a_computed_scale_of_the_right_dims_is_taken_as_it_is() -> None:
    model = norm(out="r = Reciprocal(s)\nrg = Mul(r, g)\ny = Mul(d, rg)", inputs=", float[4] g")
    assert op_names(check_pattern(model, LayerNormalizationPattern)) == ["LayerNormalization"]


def test_ones_of_an_unknown_size_are_computed() -> None:
    done = check_pattern(norm(x="float[N, T, D]"), LayerNormalizationPattern)
    assert op_names(done) == ["Shape", "ConstantOfShape", "LayerNormalization"]
    assert int_attr(only(done, onnx.ShapeOp), "start") == -1


def test_unknown_dims_in_front_do_not_matter() -> None:
    assert op_names(check_pattern(norm(x="float[N, T, 4]"), LayerNormalizationPattern)) == [
        "LayerNormalization"
    ]


@pytest.mark.parametrize(
    ("element", "tolerance", "stash"),
    [
        (standard.TensorProto.FLOAT16, Rel(4e-3), standard.TensorProto.FLOAT),
        (standard.TensorProto.BFLOAT16, Rel(3e-2), standard.TensorProto.FLOAT),
        (standard.TensorProto.DOUBLE, Rel(1e-12), standard.TensorProto.DOUBLE),
    ],
)
def test_other_float_types(element: int, tolerance: Rel, stash: int) -> None:
    model = retyped(norm(constants={"eps": "float eps = {0.0009765625}"}), element)
    feeds = feeds_for(model, special=False)
    op = only(check_pattern(model, LayerNormalizationPattern, feeds, tolerance), onnx.LayerNormalizationOp)
    assert int_attr(op, "stash_type") == stash


def test_ordinary_values_agree_to_a_few_units_in_the_last_place() -> None:
    model = norm()
    check_pattern(model, LayerNormalizationPattern, feeds_for(model, special=False), Ulp(16))


def test_the_name_of_the_last_op_is_kept() -> None:
    module = check_pattern(norm(out='["last"] y = Div(d, s)'), LayerNormalizationPattern)
    name = only(module, onnx.LayerNormalizationOp).attributes["onnx_node_name"]
    assert str(name) == '"last"'


def test_in_a_branch_of_an_if_too() -> None:
    body = "\n".join(LINES.values()).replace("y =", "z =")
    kept = ", ".join(CONSTANTS.values())
    model = model_of(
        f"agraph (float[2, 4] x, bool c) => (float[2, 4] y) <{kept}> {{\n"
        f"y = If(c) <then_branch = t () => (float[2, 4] z) {{ {body} }},"
        f" else_branch = e () => (float[2, 4] w) {{ w = Identity(x) }}>\n}}"
    )
    assert "LayerNormalization" in op_names(check_pattern(model, LayerNormalizationPattern))


def test_needs_opset_17() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(norm(), LayerNormalizationPattern, opset=16)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    # The root.
    "exponent": ("neither 0.5 nor -0.5", {"root": "s = Pow(ve, two)"}),
    "exponent_computed": (
        "neither 0.5 nor -0.5",
        {"root": "s = Pow(ve, q)", "inputs": ", float q"},
    ),
    "exponent_of_higher_rank": (
        "neither 0.5 nor -0.5",
        {
            "root": "s0 = Pow(ve, half)\ns = Squeeze(s0, zero)",
            "constants": {"half": "float[1, 1, 1, 1] half = {0.5}", "z": "int64[1] zero = {0}"},
        },
    ),  # fmt: skip
    "epsilon_computed": ("not a constant number", {"inputs": ", float e", "add": "ve = Add(var, e)"}),
    "epsilon_per_element": (
        "not a constant number",
        {"constants": {"eps": "float[3, 1] eps = {0.1, 0.2, 0.3}"}},
    ),
    "epsilon_of_higher_rank": (
        "not a constant number",
        {
            "constants": {"eps": "float[1, 1, 1, 1] eps = {0.1}", "z": "int64[1] zero = {0}"},
            "root": "s0 = Sqrt(ve)\ns = Squeeze(s0, zero)",
        },
    ),  # fmt: skip
    "sum_is_an_output": ("plus epsilon is read elsewhere", {"outputs": ", float[2, 3, 1] ve"}),
    "no_mean": ("not of a mean", {"variance": "var = ReduceMax(sq, ax)"}),
    "mean_is_an_output": ("mean square is read elsewhere", {"outputs": ", float[2, 3, 1] var"}),
    "no_square": ("not of a square", {"square": "sq = Mul(d, x)"}),
    "cube": ("not of a square", {"square": "sq = Pow(d, three)", "constants": {"t": "float three = {3}"}}),
    "sum_squared": ("not of a square", {"square": "sq = Add(d, d)"}),
    "square_is_an_output": ("square is read elsewhere", {"outputs": ", float[2, 3, 4] sq"}),
    "root_is_an_output": ("does not divide one value alone", {"outputs": ", float[2, 3, 1] s"}),
    # The axes.
    "axes_computed": (
        "axes of the reduction are not constant",
        {"inputs": ", int64[1] a", "variance": "var = ReduceMean(sq, a)"},
    ),
    "no_axis": (
        "over no axis",
        {"variance": "var = ReduceMean <noop_with_empty_axes = 1> (sq)", "out": "y = Div(d, s)"},
    ),
    "dims_dropped": (
        "drops its dims",
        {"x": "float[3, 3]", "variance": "var = ReduceMean <keepdims = 0> (sq, ax)"},
    ),
    "rank_unknown": (
        "rank is not known",
        {
            "x": "float[N]",
            "inputs": ", int64[R] shape",
            "constants": {"f": "int64[1] flat = {-1}"},
            "mean": "u = Reshape(x, shape)\nmean = ReduceMean(u, ax)",
            "center": "d = Sub(u, mean)",
            "add": "",
            "root": "s = Sqrt(var)",
            "out": "z = Div(d, s)\ny = Reshape(z, flat)",
        },
    ),  # fmt: skip
    "rank_unknown_and_epsilon": (
        "not a constant number",
        {
            "x": "float[N]",
            "inputs": ", int64[R] shape",
            "constants": {"f": "int64[1] flat = {-1}"},
            "mean": "u = Reshape(x, shape)\nmean = ReduceMean(u, ax)",
            "center": "d = Sub(u, mean)",
            "out": "z = Div(d, s)\ny = Reshape(z, flat)",
        },
    ),  # fmt: skip
    "axes_not_trailing": ("from one to the last", {"constants": {"ax": "int64[1] ax = {0}"}}),
    "axes_with_a_gap": ("from one to the last", {"constants": {"ax": "int64[2] ax = {0, 2}"}}),
    "axes_of_the_mean_differ": (
        "different axes",
        {"mean": "mean = ReduceMean(x, ax2)", "constants": {"b": "int64[2] ax2 = {1, 2}"}},
    ),
    # The quotient.
    "divided_the_other_way": ("not what was squared", {"out": "y = Div(s, d)"}),
    "another_value_divided": ("not what was squared", {"out": "y = Div(x, s)"}),
    "a_sum_squared": ("not what was squared", {"square": "e = Add(x, mean)\nsq = Mul(e, e)"}),
    "another_difference_squared": (
        "not what was squared",
        {"square": "z = Exp(x)\ne = Sub(z, mean)\nsq = Mul(e, e)"},
    ),
    "difference_from_another_center_squared": (
        "not what was squared",
        {"square": "m2 = ReduceMax(x, ax)\ne = Sub(x, m2)\nsq = Mul(e, e)"},
    ),
    "reciprocal_of_the_inverse": (
        "not multiply one value alone",
        {"root": "s = Pow(ve, neg)", "out": "r = Reciprocal(s)\ny = Mul(d, r)"},
    ),
    "scaled_inverse_added": (
        "not what was squared",
        {"out": "r = Reciprocal(s)\nrg = Mul(r, x)\ny = Add(d, rg)"},
    ),
    "not_divided": ("does not divide", {"out": "y = Add(d, s)"}),
    "inverse_is_an_output": (
        "does not multiply one value alone",
        {"out": "r = Reciprocal(s)\ny = Mul(d, r)", "outputs": ", float[2, 3, 1] r"},
    ),
    "inverse_squared": (
        "does not multiply one value alone",
        {"out": "r = Reciprocal(s)\nrr = Mul(r, r)\ny = Mul(d, rr)"},
    ),
    "inverse_added": ("does not multiply one value alone", {"out": "r = Reciprocal(s)\ny = Add(d, r)"}),
    "two_over": (
        "not what was squared",
        {"out": "r = Div(two, s)\ny = Mul(d, r)"},
    ),
    "another_value_multiplied": (
        "not what was squared",
        {"out": "r = Reciprocal(s)\nrg = Mul(r, x)\ny = Mul(x, rg)"},
    ),
    "scaled_inverse_is_an_output": (
        "not what was squared",
        {
            "out": "r = Reciprocal(s)\nrg = Mul(r, g)\ny = Mul(d, rg)",
            "inputs": ", float[4] g",
            "outputs": ", float[2, 3, 4] rg",
        },
    ),  # fmt: skip
    "scale_that_broadcasts": (
        "scale has not the dims",
        {"out": "r = Reciprocal(s)\nrg = Mul(r, g)\ny = Mul(d, rg)", "inputs": ", float[1] g"},
    ),
    "scale_of_lower_rank": (
        "scale has not the dims",
        {"out": "r = Reciprocal(s)\nrg = Mul(r, g)\ny = Mul(d, rg)", "constants": {"g": "float g = {2}"}},
    ),
    "scale_per_row": (
        "scale has not the dims",
        {
            "out": "r = Reciprocal(s)\nrg = Mul(r, g)\ny = Mul(d, rg)",
            "constants": {"g": "float[3, 4] g = {1,2,3,4,5,6,7,8,9,10,11,12}"},
        },
    ),  # fmt: skip
    "computed_scale_with_ones_in_front": (
        "scale has not the dims",
        {"out": "r = Reciprocal(s)\nrg = Mul(r, g)\ny = Mul(d, rg)", "inputs": ", float[1, 1, 4] g"},
    ),
    # What is centered.
    "not_centered": (
        "not a difference",
        {"center": "d = Add(x, mean)"},
    ),
    "centered_by_another_value": (
        "not centered by its own mean",
        {"mean": "xx = Exp(x)\nmean = ReduceMean(xx, ax)"},
    ),
    "centered_by_an_input": ("not centered by its own mean", {"mean": "", "inputs": ", float[2, 3, 1] mean"}),
    "mean_minus_value": ("not centered by its own mean", {"center": "d = Sub(mean, x)"}),
    "mean_drops_its_dims": (
        "different axes",
        {"x": "float[3, 3]", "mean": "mean = ReduceMean <keepdims = 0> (x, ax)"},
    ),
    "center_is_an_output": ("mean is read elsewhere", {"outputs": ", float[2, 3, 1] mean"}),
    "center_is_read": (
        "mean is read elsewhere",
        {"out": "z = Div(d, s)\nm2 = Exp(mean)\ny = Add(z, m2)"},
    ),
    "centered_is_an_output": ("centered value is read elsewhere", {"outputs": ", float[2, 3, 4] d"}),
    "centered_is_read": ("centered value is read elsewhere", {"out": "z = Div(d, s)\ny = Add(z, d)"}),
}


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(norm(**changes), LayerNormalizationPattern)


def test_declines_an_epsilon_with_more_digits_than_an_attribute() -> None:
    model = retyped(norm(), standard.TensorProto.DOUBLE)
    model.graph.initializer[1].CopyFrom(standard.numpy_helper.from_array(np.array(0.1), "eps"))
    assert "more digits" in decline_reason(model, LayerNormalizationPattern)


def test_a_value_that_a_branch_reads_is_not_removed() -> None:
    lines = "\n".join(LINES.values())
    model = model_of(
        f"agraph (float[2, 4] x, bool c) => (float[2, 4] y, float[2, 4] z) <{', '.join(CONSTANTS.values())}> "
        f"{{\n{lines}\nz = If(c) <then_branch = t () => (float[2, 4] w) {{ w = Identity(d) }},"
        f" else_branch = e () => (float[2, 4] v) {{ v = Identity(x) }}>\n}}"
    )
    assert "centered value is read elsewhere" in decline_reason(model, LayerNormalizationPattern)
