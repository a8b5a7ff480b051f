"""Raised ops compile to what their parts compute: the kernels agree with the host on the original model."""

from __future__ import annotations

from typing import Any

import onnx as standard
import pytest
from rewritten import only
from text_models import model_of

from onnxloom.dialects import onnx
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.testing import Rel, as_module, differences, evaluate, feeds_for
from onnxloom.transforms.patterns.normalization.group_normalization import GroupNormalizationPattern
from onnxloom.transforms.patterns.normalization.instance_normalization import InstanceNormalizationPattern
from onnxloom.transforms.patterns.normalization.layer_normalization import LayerNormalizationPattern
from onnxloom.transforms.patterns.normalization.layer_normalization_scale import (
    LayerNormalizationScalePattern,
)
from onnxloom.transforms.patterns.normalization.log_softmax_from_parts import LogSoftmaxFromPartsPattern
from onnxloom.transforms.patterns.normalization.rms_normalization import RMSNormalizationPattern
from onnxloom.transforms.patterns.normalization.rms_normalization_mul import RMSNormalizationMulPattern
from onnxloom.transforms.patterns.normalization.softmax_from_parts import SoftmaxFromPartsPattern
from onnxloom.transforms.rewriting.driver import optimize
from onnxloom.transforms.shape_inference import infer_shapes

CENTERED = (
    "m = ReduceMean(x, ax)\nd = Sub(x, m)\nsq = Mul(d, d)\nv = ReduceMean(sq, ax)\n"
    "ve = Add(v, eps)\nr = Sqrt(ve)\nn = Div(d, r)\n"
)
RMS = "sq = Mul(x, x)\nv = ReduceMean(sq, ax)\nve = Add(v, eps)\nr = Sqrt(ve)\nn = Div(x, r)\n"
LAST = "int64[1] ax = {-1}, float eps = {0.01}"
SHIFTED = "m = ReduceMax(x, ax)\nd = Sub(x, m)\ne = Exp(d)\ns = ReduceSum(e, ax)\n"

LAYER = (LayerNormalizationPattern, LayerNormalizationScalePattern)
CASES: dict[str, tuple[str, str, str, Any, type[Any]]] = {
    "layer": ("N, 3, 8", LAST + ", float[8] g = {1, 2, 3, 4, 5, 6, 7, 8}", CENTERED + "y = Mul(n, g)", LAYER,
              onnx.LayerNormalizationOp),
    "layer_of_unknown_size": ("N, 3, D", LAST, CENTERED + "y = Identity(n)", LAYER,
                              onnx.LayerNormalizationOp),
    "rms": ("N, 3, 4", LAST + ", float[4] g = {1, 2, 3, 4}", RMS + "y = Mul(n, g)",
            (RMSNormalizationPattern, RMSNormalizationMulPattern), onnx.RMSNormalizationOp),
    "instance": ("N, 3, H, W", "int64[2] ax = {2, 3}, float eps = {0.01}, float[3, 1, 1] g = {1, 2, 3}",
                 CENTERED + "y = Mul(n, g)", InstanceNormalizationPattern, onnx.InstanceNormalizationOp),
    "group": ("N, 4, H, W", "int64[3] to = {0, 2, -1}, float[2] one = {1, 1}, float[2] zero = {0, 0}",
              "g = Reshape(x, to)\nn = InstanceNormalization(g, one, zero)\nb = Shape(x)\ny = Reshape(n, b)",
              GroupNormalizationPattern, onnx.GroupNormalizationOp),
    "softmax": ("N, 3, 4", "int64[1] ax = {1}", SHIFTED + "y = Div(e, s)", SoftmaxFromPartsPattern,
                onnx.SoftmaxOp),
    "log_softmax": ("N, 3, D", "int64[1] ax = {-1}", SHIFTED + "l = Log(s)\ny = Sub(d, l)",
                    LogSoftmaxFromPartsPattern, onnx.LogSoftmaxOp),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_compiles_to_the_same(case: str) -> None:
    dims, constants, body, patterns, op_class = CASES[case]
    model: standard.ModelProto = model_of(
        f"agraph (float[{dims}] x) => (float[{dims}] y) <{constants}> {{\n{body}\n}}"
    )
    module = as_module(model)
    infer_shapes(module)
    feeds = feeds_for(model, special=False)
    want = evaluate(module, feeds)
    optimize(module, patterns if isinstance(patterns, tuple) else (patterns,))
    only(module, op_class)
    compiled = compile_model(module, CompileOptions(cache=False))
    found = differences(want, compiled.run(feeds), Rel(2e-6))
    assert not found, str(found[0])
    assert compiled.host_steps == 0
