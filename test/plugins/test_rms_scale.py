"""A kind that lives in one file outside the package is found, fuses, and runs compiled."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.transforms.fusion.plugins import use_plugins

PLUGIN = Path(__file__).parent / "rms_scale.py"
MODULE = """
func.func @f(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %axis = onnx.Constant dense<-1> : tensor<1xi64>
  %eps = onnx.Constant dense<0.1> : tensor<f32>
  %0 = "onnx.Mul"(%x, %x) : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %1 = "onnx.ReduceMean"(%0, %axis) : (tensor<?x?x8xf32>, tensor<1xi64>) -> tensor<?x?x1xf32>
  %2 = "onnx.Add"(%1, %eps) : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
  %3 = "onnx.Sqrt"(%2) : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
  %4 = "onnx.Div"(%x, %3) : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
  onnx.Return %4 : tensor<?x?x8xf32>
}"""


@pytest.mark.parametrize("shape", [(2, 3, 8), (1, 1, 8), (0, 3, 8)])
def test_the_plugin_runs_compiled(shape: tuple[int, ...]):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    with use_plugins([PLUGIN]), warnings.catch_warnings():
        warnings.simplefilter("error", FusionFallbackWarning)
        # The chain is also one that a pattern makes an op of the standard of.
        model = compile_module(parse_module(MODULE), CompileOptions(skip_passes=("rewrite-patterns",)))
    assert [kind for kind, _ in model.artifact.fused] == ["demo.rms_scale"]
    (y,) = model(x)
    expected = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(0.1))
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_the_plugin_is_a_small_file():
    assert len(PLUGIN.read_text().splitlines()) < 80
