"""GroupNormalization from the normalization of groups between two Reshapes, or why not."""

from __future__ import annotations

from typing import Any

import onnx as standard
import pytest
from rewritten import array_of, only, op_names, retyped
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.testing import Rel, feeds_for
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.group_normalization import GroupNormalizationPattern
from onnxloom.transforms.patterns.normalization.layer_normalization import LayerNormalizationPattern

LINES = {
    "into": "g = Reshape(x, grouped)",
    "norm": "n = InstanceNormalization <epsilon = 0.01> (g, ones, zeros)",
    "back": "u = Reshape(n, shape)",
    "scale": "k = Mul(u, s)",
    "out": "y = Add(k, b)",
}
CONSTANTS = {
    "grouped": "int64[3] grouped = {0, 2, -1}",
    "shape": "int64[4] shape = {2, 4, 3, 5}",
    "ones": "float[2] ones = {1, 1}",
    "zeros": "float[2] zeros = {0, 0}",
    "s": "float[4, 1, 1] s = {1, 2, 3, 4}",
    "b": "float[4, 1, 1] b = {4, 3, 2, 1}",
}


def norm(
    x: str = "2, 4, 3, 5",
    inputs: str = "",
    outputs: str = "",
    constants: dict[str, str] | None = None,
    y: str | None = None,
    **lines: str,
) -> standard.ModelProto:
    body = "\n".join({**LINES, **lines}.values())
    kept = ", ".join(filter(None, {**CONSTANTS, **(constants or {})}.values()))
    return model_of(f"agraph (float[{x}] x{inputs}) => (float[{y or x}] y{outputs}) <{kept}> {{\n{body}\n}}")


def rewritten(model: standard.ModelProto, tolerance: Rel | None = None) -> Any:
    feeds = feeds_for(model, special=False)
    return check_pattern(model, GroupNormalizationPattern, feeds, tolerance)


OF_LAYER = {"norm": "n = LayerNormalization <epsilon = 0.01> (g, l1)"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"x": "N, 4, H, W", "back": "shape1 = Shape(x)\nu = Reshape(n, shape1)"},
        {**OF_LAYER, "constants": {"l": f"float[30] l1 = {{{', '.join('1' * 30)}}}"}},
        {
            "norm": "n = LayerNormalization <epsilon = 0.01, axis = 2> (g, l1, l0)",
            "constants": {
                "grouped": "int64[5] grouped = {0, 2, 2, 3, 5}",
                "l": "float[1, 1, 1] l1 = {1}, float[1, 1, 1] l0 = {0}",
            },
        },
        {"scale": "k = Mul(s, u)", "out": "y = Add(b, k)"},
    ],
)
def test_every_spelling_becomes_the_op(changes: dict[str, Any]) -> None:
    done = rewritten(norm(**changes))
    assert [name for name in op_names(done) if name != "Shape"] == ["GroupNormalization"]
    op = only(done, onnx.GroupNormalizationOp)
    assert (int_attr(op, "num_groups"), float_attr(op, "epsilon")) == (2, pytest.approx(0.01))
    assert (array_of(op.scale).tolist(), array_of(op.bias).tolist()) == ([1, 2, 3, 4], [4, 3, 2, 1])


def test_scale_and_bias_that_are_not_there() -> None:
    op = only(rewritten(norm(scale="", out="y = Exp(u)")), onnx.GroupNormalizationOp)
    assert (array_of(op.scale).tolist(), array_of(op.bias).tolist()) == ([1] * 4, [0] * 4)


def test_a_bias_alone() -> None:
    op = only(rewritten(norm(scale="", out="y = Add(u, b)")), onnx.GroupNormalizationOp)
    assert (array_of(op.scale).tolist(), array_of(op.bias).tolist()) == ([1] * 4, [4, 3, 2, 1])


def test_a_scale_that_is_not_per_channel_stays_outside() -> None:
    done = rewritten(norm(constants={"s": "float[5] s = {1, 2, 3, 4, 5}"}))
    assert op_names(done) == ["GroupNormalization", "Mul", "Add"]


def test_with_its_normalization_in_parts() -> None:
    lines = (
        "m = ReduceMean(g, ax)\nd = Sub(g, m)\nsq = Mul(d, d)\nv = ReduceMean(sq, ax)\n"
        "ve = Add(v, eps)\nr = Sqrt(ve)\nn = Div(d, r)"
    )
    model = norm(norm=lines, constants={"more": "int64[1] ax = {-1}, float eps = {0.01}"})
    patterns = [GroupNormalizationPattern, LayerNormalizationPattern]
    done = check_pattern(model, patterns, feeds_for(model, special=False), times=2)
    assert op_names(done) == ["GroupNormalization"]


@pytest.mark.parametrize(
    ("element", "tolerance", "stash"),
    [
        (standard.TensorProto.FLOAT16, Rel(1e-2), standard.TensorProto.FLOAT),
        (standard.TensorProto.DOUBLE, Rel(1e-12), standard.TensorProto.DOUBLE),
    ],
)
def test_other_float_types(element: int, tolerance: Rel, stash: int) -> None:
    op = only(rewritten(retyped(norm(), element), tolerance), onnx.GroupNormalizationOp)
    assert int_attr(op, "stash_type") == stash


def test_needs_opset_21() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(norm(), GroupNormalizationPattern, feeds_for(norm(), special=False), opset=20)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "inner_scale": ("ones and zeros", {"constants": {"ones": "float[2] ones = {1, 2}"}}),
    "inner_bias": ("ones and zeros", {"constants": {"zeros": "float[2] zeros = {0, 1}"}}),
    "computed_inner_scale": ("ones and zeros", {"constants": {"ones": ""}, "inputs": ", float[2] ones"}),
    "statistics": (
        "statistics",
        {"norm": "n, m = LayerNormalization(g, l1)", "outputs": ", float[2, 2, 1] m",
         "constants": {"l": "float[1] l1 = {1}"}},
    ),
    "no_reshape_before": (
        "two Reshapes",
        {"into": "g = Expand(x, grouped)", "x": "2, 2, 30", "y": "2, 4, 3, 5",
         "constants": {"grouped": "int64[3] grouped = {2, 2, 30}"}},
    ),
    "no_reshape_after": (
        "two Reshapes",
        {"back": "u0 = Exp(n)\nu = Reshape(u0, shape)"},
    ),
    "normalized_is_an_output": ("two Reshapes", {"outputs": ", float[2, 2, 30] n"}),
    "groups_are_an_output": ("reshaped input is read elsewhere", {"outputs": ", float[2, 2, 30] g"}),
    "axis_of_groups_too": (
        "all that follows axis 1",
        {"norm": "n = LayerNormalization <axis = 1> (g, l1)", "constants": {"l": "float[1, 1] l1 = {1}"}},
    ),
    "not_all_axes": (
        "all that follows axis 1",
        {"norm": "n = LayerNormalization(g, l1)",
         "constants": {"grouped": "int64[4] grouped = {0, 2, 2, 15}", "l": "float[1] l1 = {1}"}},
    ),
    "another_shape_after": (
        "undo the first",
        {"constants": {"shape": "int64[4] shape = {2, 4, 5, 3}"}, "y": "2, 4, 5, 3"},
    ),
    "channels_only": (
        "undo the first",
        {"x": "2, 4", "constants": {"shape": "int64[2] shape = {2, 4}", "s": "", "b": ""}, "scale": "",
         "out": "y = Exp(u)"},
    ),
    "batch_split": (
        "keep the batch",
        {"x": "4, 2, 3, 5", "constants": {"grouped": "int64[3] grouped = {2, 2, -1}",
         "shape": "int64[4] shape = {4, 2, 3, 5}", "s": "float s = {1}", "b": "float b = {1}"}},
    ),
    "groups_do_not_divide": (
        "multiple of the groups",
        {"x": "2, 3, 4, 5", "constants": {"shape": "int64[4] shape = {2, 3, 4, 5}", "s": "float s = {1}",
         "b": "float b = {1}"}},
    ),
    "channels_unknown": (
        "multiple of the groups",
        {"x": "2, C, 3, 5", "back": "shape1 = Shape(x)\nu = Reshape(n, shape1)",
         "constants": {"s": "float s = {1}", "b": "float b = {1}"}},
    ),
    "groups_unknown": (
        "multiple of the groups",
        {"inputs": ", int64[1] c", "into": "gs = Concat <axis = 0> (two, c, rest)\ng = Reshape(x, gs)",
         "norm": "n = LayerNormalization <axis = 2> (g, l1)",
         "constants": {"c": "int64[1] two = {2}, int64[1] rest = {-1}, float[1] l1 = {1}"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(norm(**changes), GroupNormalizationPattern)
