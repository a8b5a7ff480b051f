"""BatchNormalization from its parts, or why not."""

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
from onnxloom.transforms.patterns.normalization.batch_normalization_from_parts import (
    BatchNormalizationFromPartsPattern,
)

LINES = {
    "center": "a = Sub(x, m)",
    "quotient": "q = Div(a, d)",
    "scale": "k = Mul(q, s)",
    "out": "y = Add(k, b)",
}
CONSTANTS = {
    "m": "float[3, 1, 1] m = {1, 2, 3}",
    "d": "float[1, 3, 1, 1] d = {2, 4, 0.5}",
    "s": "float[3, 1, 1] s = {3, 2, 1}",
    "b": "float[3, 1, 1] b = {-1, 0, 1}",
}


def norm(
    x: str = "2, 3, 4, 5",
    inputs: str = "",
    outputs: str = "",
    y: str | None = None,
    constants: dict[str, str] | None = None,
    **lines: str,
) -> standard.ModelProto:
    body = "\n".join({**LINES, **lines}.values())
    kept = ", ".join(filter(None, {**CONSTANTS, **(constants or {})}.values()))
    return model_of(f"agraph (float[{x}] x{inputs}) => (float[{y or x}] y{outputs}) <{kept}> {{\n{body}\n}}")


def rewritten(model: standard.ModelProto, tolerance: Rel | None = None) -> Any:
    feeds = feeds_for(model, special=False)
    return check_pattern(model, BatchNormalizationFromPartsPattern, feeds, tolerance, times=1)


@pytest.mark.parametrize(
    ("changes", "scale"),
    [
        ({}, [1.5, 0.5, 2]),
        ({"scale": "k = Mul(s, q)", "out": "y = Add(b, k)"}, [1.5, 0.5, 2]),
        ({"scale": "k = Identity(q)"}, None),
        ({"quotient": "q = Mul(d, a)"}, [6, 8, 0.5]),
        ({"scale": "k = Div(q, s)"}, [1 / 6, 1 / 8, 2]),
        ({"scale": "k1 = Mul(q, s)\nk = Mul(k1, s)"}, [4.5, 1, 2]),
        ({"x": "N, 3, H, W"}, [1.5, 0.5, 2]),
    ],
)
def test_every_spelling_becomes_the_op(changes: dict[str, Any], scale: list[float] | None) -> None:
    if scale is None:
        changes, scale = {"scale": "", "out": "y = Add(q, b)"}, [0.5, 0.25, 2]
    done = rewritten(norm(**changes))
    assert op_names(done) == ["BatchNormalization"]
    op = only(done, onnx.BatchNormalizationOp)
    assert float_attr(op, "epsilon") == 0.0
    np.testing.assert_allclose(array_of(op.scale), scale, rtol=1e-7)
    assert array_of(op.B).tolist() == [-1, 0, 1]
    assert array_of(op.input_mean).tolist() == [1, 2, 3]
    assert array_of(op.input_var).tolist() == [1, 1, 1]


def test_matrices_with_a_column_per_channel() -> None:
    constants = {name: f"float[3] {name} = {{1, 2, 3}}" for name in "mdsb"}
    assert op_names(rewritten(norm("5, 3", constants=constants))) == ["BatchNormalization"]


def test_one_number_for_all_channels() -> None:
    op = only(rewritten(norm(constants={"d": "float d = {2}"})), onnx.BatchNormalizationOp)
    assert array_of(op.scale).tolist() == [1.5, 1, 0.5]


@pytest.mark.parametrize(
    ("element", "tolerance"),
    [(standard.TensorProto.FLOAT16, Rel(1e-2)), (standard.TensorProto.DOUBLE, Rel(1e-12))],
)
def test_other_float_types(element: int, tolerance: Rel) -> None:
    assert op_names(rewritten(retyped(norm(), element), tolerance)) == ["BatchNormalization"]


def test_needs_opset_14() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(norm(), BatchNormalizationFromPartsPattern, feeds_for(norm(), special=False), opset=13)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "computed_mean": ("is subtracted", {"constants": {"m": ""}, "inputs": ", float[3, 1, 1] m"}),
    "mean_per_row": ("is subtracted", {"constants": {"m": "float[4, 1] m = {1, 2, 3, 4}"}}),
    "subtracted_from": ("is subtracted", {"center": "a = Sub(m, x)"}),
    "computed_factor": ("factor is not constant", {"constants": {"s": ""}, "inputs": ", float[3, 1, 1] s"}),
    "factor_per_row": ("factor is not constant", {"constants": {"d": "float[4, 1] d = {1, 2, 3, 4}"}}),
    "divided_the_other_way": ("factor is not constant", {"quotient": "q = Div(d, a)"}),
    "squared": ("factor is not constant", {"quotient": "q = Mul(a, a)"}),
    "centered_is_an_output": ("no Mul or Div", {"outputs": ", float[2, 3, 4, 5] a"}),
    "quotient_is_an_output": ("no Mul or Div", {"outputs": ", float[2, 3, 4, 5] q"}),
    "only_added": ("no Mul or Div", {"quotient": "", "scale": "", "out": "y = Add(a, b)"}),
    "nothing_added": ("no Mul or Div", {"out": "y = Exp(k)"}),
    "computed_bias": ("is added", {"constants": {"b": ""}, "inputs": ", float[3, 1, 1] b"}),
    "bias_per_row": ("is added", {"constants": {"b": "float[4, 1] b = {1, 2, 3, 4}"}}),
    "added_to_itself": ("is added", {"out": "y = Add(k, k)"}),
    "divided_by_zero": ("not finite", {"constants": {"d": "float[3, 1, 1] d = {1, 0, 1}"}}),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(norm(**changes), BatchNormalizationFromPartsPattern)


def test_declines_integers() -> None:
    model = retyped(norm(constants={"d": "float d = {2}"}), standard.TensorProto.INT32)
    assert "is subtracted" in decline_reason(model, BatchNormalizationFromPartsPattern)
