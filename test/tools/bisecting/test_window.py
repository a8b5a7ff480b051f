"""Two modules without a common object: what did a rewrite replace?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects.onnx import make_constant
from onnxloom.testing import as_module
from onnxloom.tools.bisecting.window import replaced_titles, replaced_values

BEFORE = """
func.func @main_graph(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %k = onnx.Constant dense<2.0> : tensor<4xf32>
  %a = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "onnx.Mul"(%a, %k) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = "onnx.Neg"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %e = "onnx.If"(%c) ({
    %t = "onnx.Tanh"(%d) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %t : tensor<4xf32>
  }, {
    %f = "onnx.Abs"(%d) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %f : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %d, %e : tensor<4xf32>, tensor<4xf32>
}
"""


def titles(before: str, after: str) -> list[str]:
    return [title.split()[0] for title in replaced_titles(as_module(before), as_module(after))]


def test_equal_modules_differ_in_nothing() -> None:
    assert replaced_values(as_module(BEFORE), as_module(BEFORE)) == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [
        # One op for another: what reads it, in regions too, is the same but for that.
        ('"onnx.Mul"(%a, %k)', '"onnx.Add"(%a, %k)', ["onnx.Mul"]),
        # What an op reads, while the old value is there still: the op that reads.
        ('%d = "onnx.Neg"(%b)', '%d = "onnx.Neg"(%a)', ["onnx.Neg"]),
        ('"onnx.Mul"(%a, %k)', '"onnx.Mul"(%a, %x)', ["onnx.Mul"]),
        # An attribute.
        ('"onnx.Exp"(%x)', '"onnx.Exp"(%x) {mark = 1 : i64}', ["onnx.Exp"]),
        # Inside of a region: the op that holds it.
        ('"onnx.Tanh"(%d)', '"onnx.Sin"(%d)', ["onnx.If"]),
        ("onnx.Yield %t", "onnx.Yield %d", ["onnx.If"]),
        # An output: what gave it.
        ("onnx.Return %d, %e", "onnx.Return %b, %e", ["onnx.Neg"]),
        ("onnx.Return %d, %e", "onnx.Return %e, %d", ["onnx.Neg", "onnx.If"]),
    ],
)
def test_what_went_is_named(old: str, new: str, replaced: list[str]) -> None:
    assert titles(BEFORE, BEFORE.replace(old, new)) == replaced


def test_the_sign_of_a_zero_is_a_difference() -> None:
    zero, negative = (BEFORE.replace("dense<2.0>", f"dense<{text}>") for text in ("0.0", "-0.0"))
    assert titles(zero, negative) == ["onnx.Mul"]


def test_weights_that_two_runs_made_are_told_by_their_elements() -> None:
    def with_weights(array: np.ndarray[Any, np.dtype[np.float32]]) -> ModuleOp:
        module = as_module(BEFORE)
        old = next(op for op in module.walk() if op.name == "onnx.Constant")
        fresh = make_constant(array)
        assert old.parent is not None
        old.parent.insert_op_before(fresh, old)
        next(iter(old.results[0].uses)).operation.operands[1] = fresh.results[0]
        return module

    ones = [np.ones((250, 4), np.float32) for _ in range(2)]
    assert replaced_values(with_weights(ones[0]), with_weights(ones[1])) == ([], [])
    assert len(replaced_values(with_weights(ones[0]), with_weights(2 * ones[1]))[0]) == 1
