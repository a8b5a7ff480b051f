"""Zero points of integer factors are one, or one per row or column; others are refused, not read."""

from __future__ import annotations

import lowering_reasons
import numpy as np
import pytest
from lowering_reasons import reason_of
from text_models import compiled

from onnxloom.dialects.loom.target import Target
from onnxloom.errors import OnnxloomError
from onnxloom.lowering.runtime.model import CompiledModel

RNG = np.random.default_rng(0)
A, B = RNG.integers(0, 255, (4, 8)).astype(np.uint8), RNG.integers(0, 255, (8, 3)).astype(np.uint8)


def product(of_rows: bool) -> CompiledModel:
    args = "a, b, z" if of_rows else "a, b, one, z"
    return compiled(
        "agraph (uint8[M, K] a, uint8[K, N] b, uint8[Z] z) => (int32[M, N] y)"
        f"{{ one = Constant <value = uint8 {{1}}> () y = MatMulInteger({args}) }}"
    )


@pytest.mark.parametrize("size", [1, 4])
def test_one_zero_point_or_one_per_row(size: int) -> None:
    zero = np.arange(7, 7 + size).astype(np.uint8)
    wanted = (A.astype(np.int32) - zero.reshape(-1, 1)) @ B
    np.testing.assert_array_equal(product(True)(A, B, zero)[0], wanted)


@pytest.mark.parametrize("size", [1, 3])
def test_one_zero_point_or_one_per_column(size: int) -> None:
    zero = np.arange(7, 7 + size).astype(np.uint8)
    wanted = (A.astype(np.int32) - 1) @ (B.astype(np.int32) - zero)
    np.testing.assert_array_equal(product(False)(A, B, zero)[0], wanted)


@pytest.mark.parametrize("of_rows", [True, False])
@pytest.mark.parametrize("size", [0, 2, 5])
def test_other_sizes_are_refused(of_rows: bool, size: int) -> None:
    with pytest.raises(OnnxloomError, match="MatMulInteger: the zero points do not fit the factor"):
        product(of_rows)(A, B, np.zeros(size, np.uint8))


@pytest.mark.parametrize("dot_bytes", [True, False])
def test_constants_of_other_sizes_decline(dot_bytes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering_reasons, "Target", lambda: Target(dot_bytes=dot_bytes))
    operands = ["tensor<4x8xui8>", "dense<3> : tensor<8x3xi8>", "none", "dense<[1, 2]> : tensor<2xi8>"]
    reason = reason_of(("MatMulInteger", operands, "", ["tensor<4x3xi32>"]))
    assert reason is not None and reason.startswith("zero points of shape [2] do not fit a factor of")
