"""RMSNormalization takes in the factor that follows it, or says why not."""

from __future__ import annotations

from typing import Any

import onnx as standard
import pytest
from rewritten import array_of, only, op_names
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, int_attr
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.normalization.rms_normalization_mul import RMSNormalizationMulPattern

CONSTANTS = "float[4] ones = {1, 1, 1, 1}, float[4] s = {1, 2, 3, 4}, float[4] w = {2, 2, 0.5, 3}"


def scaled(
    norm: str = "n = RMSNormalization <epsilon = 0.01, axis = 2> (x, s)",
    after: str = "y = Mul(n, w)",
    *,
    x: str = "2, 3, 4",
    inputs: str = "",
    outputs: str = "",
    constants: str = CONSTANTS,
    y: str | None = None,
) -> standard.ModelProto:
    head = f"agraph (float[{x}] x{inputs}) => (float[{y or x}] y{outputs})"
    return model_of(f"{head} <{constants}> {{\n{norm}\n{after}\n}}", 23)


@pytest.mark.parametrize("after", ["y = Mul(n, w)", "y = Mul(w, n)"])
def test_constants_are_multiplied_and_attributes_kept(after: str) -> None:
    done = check_pattern(scaled(after=after), RMSNormalizationMulPattern, times=1)
    assert op_names(done) == ["RMSNormalization"]
    op = only(done, onnx.RMSNormalizationOp)
    assert array_of(op.scale).tolist() == [2, 4, 1.5, 12]
    assert (int_attr(op, "axis"), float_attr(op, "epsilon")) == (2, pytest.approx(0.01))


def test_any_factor_takes_the_place_of_ones() -> None:
    model = scaled("n = RMSNormalization(x, ones)", "y = Mul(n, v)", inputs=", float[4] v")
    assert op_names(check_pattern(model, RMSNormalizationMulPattern)) == ["RMSNormalization"]


def test_a_factor_computed_between_the_two() -> None:
    model = scaled("n = RMSNormalization(x, ones)", "e = Exp(v)\ny = Mul(n, e)", inputs=", float[4] v")
    assert op_names(check_pattern(model, RMSNormalizationMulPattern)) == ["Exp", "RMSNormalization"]


def test_needs_opset_23() -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(scaled(), RMSNormalizationMulPattern, opset=22)


DECLINED: dict[str, tuple[str, dict[str, Any]]] = {
    "output": ("one Mul alone", {"outputs": ", float[2, 3, 4] n"}),
    "other_op": ("one Mul alone", {"after": "y = Add(n, w)"}),
    "squared": ("multiplied by itself", {"after": "y = Mul(n, n)"}),
    "one_number": ("exactly the dims", {"after": "y = Mul(n, k)", "inputs": ", float[1] k"}),
    "each_row_its_own": ("exactly the dims", {"after": "y = Mul(n, k)", "inputs": ", float[3, 4] k"}),
    "computed_factor": ("not both constant", {"after": "y = Mul(n, k)", "inputs": ", float[4] k"}),
    "computed_scale": (
        "not both constant",
        {"norm": "n = RMSNormalization(x, k)", "inputs": ", float[4] k"},
    ),
}


@pytest.mark.parametrize("case", DECLINED)
def test_declines(case: str) -> None:
    reason, changes = DECLINED[case]
    assert reason in decline_reason(scaled(**changes), RMSNormalizationMulPattern)


def test_declines_an_unknown_rank() -> None:
    model = scaled(
        "u = Reshape(x, shape)\nn = RMSNormalization(u, s)", "k = Mul(n, w)\ny = Reshape(k, back)",
        inputs=", int64[R] shape, int64[3] back",
    )  # fmt: skip
    assert "rank is not known" in decline_reason(model, RMSNormalizationMulPattern)
