"""RMSNormalization from its parts, with and without casts around it, or why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx as standard
import pytest
from rewritten import array_of, only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.layer_normalization import LayerNormalizationPattern
from onnxloom.transforms.patterns.normalization.rms_normalization import RMSNormalizationPattern

LINES = {
    "square": "sq = Pow(x, two)",
    "variance": "var = ReduceMean(sq, ax)",
    "add": "ve = Add(var, eps)",
    "root": "s = Sqrt(ve)",
    "inverse": "r = Reciprocal(s)",
    "out": "y = Mul(x, r)",
}
CONSTANTS = {
    "ax": "int64[1] ax = {-1}",
    "eps": "float eps = {0.0009765625}",
    "two": "float two = {2}",
    "one": "float one = {1}",
}


def norm(
    x: str = "float[2, 3, 4]",
    outputs: str = "",
    inputs: str = "",
    constants: dict[str, str] | None = None,
    **lines: str,
) -> standard.ModelProto:
    body = "\n".join({**LINES, **lines}.values())
    kept = ", ".join({**CONSTANTS, **(constants or {})}.values())
    return model_of(f"agraph ({x} x{inputs}) => ({x} y{outputs}) <{kept}> {{\n{body}\n}}", 23)


CASTS: dict[str, Any] = {
    "square": "w = Cast <to = 1> (x)\nsq = Pow(w, two)",
    "out": "n = Mul(w, r)\ny = Cast <to = 10> (n)",
}
"""The way it is written for 16-bit inputs."""


@pytest.mark.parametrize(
    "lines",
    [
        {},
        {"square": "sq = Mul(x, x)"},
        {"inverse": "r = Div(one, s)"},
        {"inverse": "", "out": "y = Div(x, s)"},
        {"add": "ve = Add(eps, var)", "out": "y = Mul(r, x)"},
    ],
)
def test_every_spelling_becomes_the_op(lines: dict[str, Any]) -> None:
    done = check_pattern(norm(**lines), RMSNormalizationPattern, times=1)
    assert op_names(done) == ["RMSNormalization"]
    op = only(done, onnx.RMSNormalizationOp)
    assert (int_attr(op, "axis"), float_attr(op, "epsilon")) == (-1, 0.0009765625)
    np.testing.assert_array_equal(array_of(op.scale), np.ones(4, np.float32))


def test_a_scale_of_the_inverse() -> None:
    model = norm(out="rg = Mul(r, g)\ny = Mul(x, rg)", constants={"g": "float[4] g = {1, 2, 3, 4}"})
    op = only(check_pattern(model, RMSNormalizationPattern), onnx.RMSNormalizationOp)
    assert array_of(op.scale).tolist() == [1, 2, 3, 4]


def test_unknown_sizes() -> None:
    done = check_pattern(norm("float[N, T, D]"), RMSNormalizationPattern)
    assert op_names(done) == ["Shape", "ConstantOfShape", "RMSNormalization"]


def test_casts_around_it_go() -> None:
    model = norm("float16[2, 3, 4]", **CASTS)
    feeds = feeds_for(model, special=False)
    done = check_pattern(model, RMSNormalizationPattern, feeds, Rel(2e-3))
    assert op_names(done) == ["RMSNormalization"]
    assert array_of(only(done, onnx.RMSNormalizationOp).scale).dtype == np.float16


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"out": "n = Mul(w, r)\ny0 = Cast <to = 16> (n)\ny = Cast <to = 10> (y0)"},
         ["Cast", "RMSNormalization", "Cast", "Cast"]),
        ({"outputs": ", float[2, 3, 4] w"}, ["Cast", "RMSNormalization", "Cast"]),
        ({"outputs": ", float[2, 3, 4] n"}, ["Cast", "RMSNormalization", "Cast"]),
        ({"out": "n = Mul(w, r)\nn2 = Exp(n)\ny = Cast <to = 10> (n2)"},
         ["Cast", "RMSNormalization", "Exp", "Cast"]),
        ({"square": "w0 = Cast <to = 1> (x)\nw = Abs(w0)\nsq = Pow(w, two)"},
         ["Cast", "Abs", "RMSNormalization", "Cast"]),
        ({"out": "rg = Mul(r, g)\nn = Mul(w, rg)\ny = Cast <to = 10> (n)", "inputs": ", float[4] g"},
         ["Cast", "RMSNormalization", "Cast"]),
    ],
)  # fmt: skip
def test_casts_that_are_read_elsewhere_or_no_round_trip_stay(
    changes: dict[str, Any], left: list[str]
) -> None:
    model = norm("float16[2, 3, 4]", **{**CASTS, **changes})
    feeds = feeds_for(model, special=False)
    assert op_names(check_pattern(model, RMSNormalizationPattern, feeds, Rel(1e-2))) == left


@pytest.mark.parametrize(("x", "to"), [("double[2, 3, 4]", 11), ("int32[2, 3, 4]", 6)])
def test_casts_from_types_that_are_not_sixteen_bit_floats_stay(x: str, to: int) -> None:
    lines: dict[str, Any] = {**CASTS, "out": f"n = Mul(w, r)\ny = Cast <to = {to}> (n)"}
    model = norm(x, **lines)
    feeds = feeds_for(model, special=False)
    done = check_pattern(model, RMSNormalizationPattern, feeds)
    assert op_names(done) == ["Cast", "RMSNormalization", "Cast"]


def test_casts_to_doubles_stay() -> None:
    lines: dict[str, Any] = {
        "square": "w = Cast <to = 11> (x)\nsq = Mul(w, w)",
        "add": "",
        "root": "s = Sqrt(var)",
        "out": CASTS["out"],
    }
    model = norm("float16[2, 3, 4]", **lines)
    feeds = feeds_for(model, special=False)
    done = check_pattern(model, RMSNormalizationPattern, feeds, Rel(2e-3))
    assert op_names(done) == ["Cast", "RMSNormalization", "Cast"]
    assert int_attr(only(done, onnx.RMSNormalizationOp), "stash_type") == standard.TensorProto.DOUBLE


@pytest.mark.parametrize(
    ("element", "tolerance"),
    [(standard.TensorProto.FLOAT16, Rel(4e-3)), (standard.TensorProto.DOUBLE, Rel(1e-12))],
)
def test_other_float_types(element: int, tolerance: Rel) -> None:
    model = retyped(norm(), element)
    feeds = feeds_for(model, special=False)
    assert op_names(check_pattern(model, RMSNormalizationPattern, feeds, tolerance)) == ["RMSNormalization"]


def test_needs_opset_23() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(norm(), RMSNormalizationPattern, opset=22)


def test_leaves_what_is_centered_to_layer_normalization() -> None:
    lines: dict[str, Any] = {
        "square": "m = ReduceMean(x, ax)\nd = Sub(x, m)\nsq = Pow(d, two)",
        "out": "y = Mul(d, r)",
    }
    patterns = [RMSNormalizationPattern, LayerNormalizationPattern]
    assert op_names(check_pattern(norm(**lines), patterns)) == ["LayerNormalization"]


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "not_the_part": ("not of a square", {"square": "sq = Exp(x)"}),
    "axes_not_trailing": ("from one to the last", {"constants": {"ax": "int64[1] ax = {0}"}}),
    "axes_in_the_middle": ("from one to the last", {"constants": {"ax": "int64[1] ax = {1}"}}),
    "inverse_shared": ("multiply one value alone", {"outputs": ", float[2, 3, 1] r"}),
    "two_differences": (
        "computed apart",
        {"square": "c = Exp(x)\nd = Sub(x, c)\ne = Sub(x, c)\nsq = Mul(d, d)", "out": "y = Mul(e, r)"},
    ),
    "scale_that_broadcasts": (
        "scale has not the dims",
        {"out": "rg = Mul(r, g)\ny = Mul(x, rg)", "inputs": ", float[1] g"},
    ),
}


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(norm(**changes), RMSNormalizationPattern)
