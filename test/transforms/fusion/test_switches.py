"""Fusion on, off, and off for one kind: other kernels, the same output names and values."""

from __future__ import annotations

import numpy as np
import pytest

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.lowering.compile import CompileOptions, compile_module

MODEL = """
func.func @main_graph(%x: tensor<?x8xf32> {onnx.name = "x"}, %w: tensor<8x8xf32> {onnx.name = "w"})
    -> (tensor<?x8xf32> {onnx.name = "hidden"}, tensor<?x8xf32> {onnx.name = "out"}) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.MatMul"(%x, %w) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = "onnx.MatMul"(%1, %w) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %3 = "onnx.Neg"(%1) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %4, %mask = "onnx.Dropout"(%3, %none, %none) : (tensor<?x8xf32>, none, none) -> (tensor<?x8xf32>, none)
  %5 = "onnx.Exp"(%4) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %6 = "onnx.MatMul"(%5, %2) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  onnx.Return %1, %6 : tensor<?x8xf32>, tensor<?x8xf32>
}"""

BOTH = {"onnx.elementwise", "onnx.matmul_epilogue"}


def run(options: CompileOptions) -> tuple[set[str], dict[str, np.ndarray]]:
    model = compile_module(parse_module(MODEL), options)
    rng = np.random.default_rng(0)
    feeds = {name: rng.standard_normal((8, 8)).astype(np.float32) for name in ("x", "w")}
    return {kind for kind, _ in model.artifact.fused}, model.run(feeds)


@pytest.mark.parametrize(
    "options, kinds",
    [
        (CompileOptions(fuse=False), set[str]()),
        (CompileOptions(opt_level=0), set[str]()),
        (CompileOptions(opt_level=1), set[str]()),
        (CompileOptions(opt_level=2), BOTH),
        (CompileOptions(skip_passes=("fuse-ops",)), set[str]()),
        (CompileOptions(disabled_kinds=("onnx.elementwise",)), BOTH - {"onnx.elementwise"}),
        (CompileOptions(disabled_kinds=("onnx.matmul_epilogue",)), BOTH - {"onnx.matmul_epilogue"}),
        (CompileOptions(fusion_kinds=("onnx.elementwise",)), {"onnx.elementwise"}),
    ],
)
def test_a_switch_changes_what_is_fused_and_nothing_else(options: CompileOptions, kinds: set[str]):
    fused, expected = run(CompileOptions())
    assert fused == BOTH
    switched, actual = run(options)
    assert switched == kinds
    assert list(actual) == list(expected) == ["hidden", "out"]
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name], value, rtol=1e-5, atol=1e-5)
